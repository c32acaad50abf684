"""What a session starts from, and how extensions change it (core.md section 3)."""
