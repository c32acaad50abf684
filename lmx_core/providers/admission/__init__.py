"""How many requests may be under way at once, and how many tokens a minute: what stands between a session and its provider.

`base` is the seam, `limiter` the one that is shipped, `domain` its bookkeeping, `mounting` how a runtime comes by one,
`passage` how a request passes one.
"""

from lmx_core.providers.admission.base import Admission, Lease, is_admission
from lmx_core.providers.admission.domain import Load
from lmx_core.providers.admission.limiter import ProviderLimiter
from lmx_core.providers.admission.mounting import maker
from lmx_core.providers.admission.passage import Limits, Passage, default_key

__all__ = ["Admission", "Lease", "Limits", "Load", "Passage", "ProviderLimiter", "default_key", "is_admission", "maker"]
