"""What a person has written, on disk: unsent drafts a session, and the history of what was sent."""
