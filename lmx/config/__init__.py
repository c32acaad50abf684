"""What a person sets: files, variables and flags, checked and laid over each other.

Nothing of it is guessed: a setting that cannot be read stops the start, because going on without it could mean going on
without a refusal somebody wrote down (cli.md 3.4).
"""
