"""The loop, pure: what happened goes in, effects come out. No I/O, no clock, no tasks, no ids are made here.

Whatever waits lives in `session/`. The obvious other way, a loop that calls the provider and the tools itself, can be
tested only with fakes of everything, and cannot be replayed.
"""
