"""The kit for hosts' tests: what our own tests need to fake, shipped (TK-1, TK-2).

A test with it needs no key, no network and no sleep: a scripted model, a clock moved by hand, a store that forgets.
"""

from lmx_core.clock import ManualClock
from lmx_core.providers.scripted import Scripted
from lmx_core.stores.memory import MemoryStore
from lmx_core.testing.kit import Prompted, assert_valid_transcript, collect, prompt, runtime

__all__ = [
    "ManualClock",
    "MemoryStore",
    "Prompted",
    "Scripted",
    "assert_valid_transcript",
    "collect",
    "prompt",
    "runtime",
]
