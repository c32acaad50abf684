"""Between the reducer and the engine: effects become calls of the session, its events become messages (GEN-1, GEN-3).

Every surface uses it: the full screen and the plain one differ in how they draw, not in what a message does to a session.

| file | what it does |
| --- | --- |
| `host` | what a surface needs of the program that opens it |
| `shown` | the session that is shown: opening another, reading its events |
| `merging` | what streams, joined to one event a frame |
| `said` | what was said to the session, one after another |
| `reducing` | the reducer with its state, for a surface |
| `kept/` | unsent drafts and the history, on disk |
| `shell` | a command that the person runs |
| `gate` | answers to parked calls, the mode, remembered rules |
| `menus` | what menus and cards ask of the disk or a provider |
| `actions` | what a slash command may do |
| `bridge` | which effect goes to which of these |
"""

from __future__ import annotations

from lmx.bridge.actions import LineActions, perform
from lmx.bridge.bridge import Bridge
from lmx.bridge.host import Host, NeedsModel
from lmx.bridge.surface import Surface

__all__ = ["Bridge", "Host", "LineActions", "NeedsModel", "Surface", "perform"]
