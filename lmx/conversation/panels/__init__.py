"""Panels: what takes the composer's place while something else is asked or looked at (tui.md 5.2).

| file | what is in it |
| --- | --- |
| `base` | what a panel is, and what of it is drawn |
| `frame` | which one is shown, which wait, what a key does, and that nothing typed too early counts |
| `history` | what was sent before, searched |
"""
