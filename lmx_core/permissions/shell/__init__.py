"""Reading a shell command without running it: `read_command` says what it runs, what it opens, and where it is unsure."""

from __future__ import annotations

from lmx_core.permissions.shell.base import File, Part, Reading, Setting
from lmx_core.permissions.shell.reader import read_command
from lmx_core.permissions.shell.words import Word, collapsed

__all__ = ["File", "Part", "Reading", "Setting", "Word", "collapsed", "read_command"]
