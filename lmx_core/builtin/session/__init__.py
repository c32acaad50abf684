"""Tools whose subject is the session itself: the person in front of it, and the plan of its work. They touch no file."""
