"""Which conversations hold what somebody remembers of them: `lmx search` and the picker of /resume.

| file | what it does |
| --- | --- |
| `query` | what was typed, as words to look for |
| `passages` | what of a transcript can be found |
| `index` | the SQLite index, always rebuildable from the transcripts |
| `find` | one search: the index brought up to date and asked; without one the transcripts themselves |

Nothing here costs a start anything: it is imported when somebody searches.
"""

from __future__ import annotations

from lmx.search.find import Found, Hit, Results, search
from lmx.search.query import terms

__all__ = ["Found", "Hit", "Results", "search", "terms"]
