"""What goes into a request, and what of it may leave."""
