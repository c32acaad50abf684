"""Reading a shell command without running it: `reader.read_command` says what it runs, what it opens, where it is unsure.

`base` has what it answers with; `words`, `expansions`, `heredocs` and `commands` are its parts, in the order in which bash
goes about a line; `wrappers` and `programs` are tables of ordinary programs. The grammar is loaded when it is first needed.
"""
