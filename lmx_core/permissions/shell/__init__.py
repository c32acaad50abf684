"""Reading a shell command without running it: `reader.read_command` says what it runs, what it opens, where it is unsure.

`base` has what it answers with; `words`, `expansions`, `heredocs` and `commands` are its parts, `accounting` checks the
grammar; `wrappers` and `programs` are tables of ordinary programs. The grammar is loaded when it is first needed.
"""
