"""The actor around the pure turn: one task a session, the only writer of its transcript."""
