"""What the session says and does, as blocks: answers, calls, cards, phases, turns; `entries` is where they meet.

What the person does is beside this folder, in `lines` and `menus`.
"""
