"""What a person has written and no model has been given: the queue, what is put aside, and what of it outlives the screen."""
