"""What a session works with, and how a host changes that between prompts."""
