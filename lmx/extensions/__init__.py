"""A person's own extensions: directories outside every checkout, named one by one, loaded before a session starts."""
