"""Text surgery, pure: where an edit goes, and how a file's other bytes survive it."""
