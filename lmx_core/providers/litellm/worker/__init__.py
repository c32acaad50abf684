"""What runs in the worker process; the parent imports nothing from here."""
