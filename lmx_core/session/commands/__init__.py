"""Commands that are no call of a model's: those of a person, and those that a hook runs on its own account."""
