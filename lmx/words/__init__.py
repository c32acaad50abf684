"""Every sentence, label and number format that lmx says to a person by itself (GEN-9).

One place, so that a host can replace the wording, and so that a test that asks *whether* something is said does not break
when it is said better. What a model, a tool or a file says is never here; it goes through `lmx.sanitize`.
"""

from lmx.words.amounts import *  # noqa: F403 - the one place: whoever says something says words.X
from lmx.words.checks import *  # noqa: F403 - the one place: whoever says something says words.X
from lmx.words.commands import *  # noqa: F403 - the one place: whoever says something says words.X
from lmx.words.composer import *  # noqa: F403 - the one place: whoever says something says words.X
from lmx.words.frame import *  # noqa: F403 - the one place: whoever says something says words.X
from lmx.words.panels import *  # noqa: F403 - the one place: whoever says something says words.X
from lmx.words.plain import *  # noqa: F403 - the one place: whoever says something says words.X
from lmx.words.receipts import *  # noqa: F403 - the one place: whoever says something says words.X
from lmx.words.turns import *  # noqa: F403 - the one place: whoever says something says words.X
