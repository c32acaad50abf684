"""Panels: what takes the composer's place while something else is asked or looked at (tui.md 5.2).

| file | what is in it |
| --- | --- |
| `base` | what a panel is, and what of it is drawn |
| `frame` | which one is shown, which wait, what a key does, and that nothing typed too early counts |
| `history` | what was sent before, searched |
| `asked`, `question` | what a model asks, as data; the panel that asks it |
| `hunks` | the changes of a parked call, of which some are taken |
| `first_run` | the ways to a model, and its key |
| `picker`, `find` | stored sessions; a text in the transcript |
| `context`, `diff` | what fills the window; what has changed in the work tree |
"""
