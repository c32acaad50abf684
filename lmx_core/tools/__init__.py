"""What a tool is, which tools a session has, and the one way to run a call (TO-8).

Calling a tool's `run` directly instead would skip the gate, the deadline and the output bound, and let its exception end the
session.
"""
