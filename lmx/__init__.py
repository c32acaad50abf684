"""lmx, the program: a terminal coding agent that is an ordinary host of `lmx_core`."""

__version__ = "0.1.0"
