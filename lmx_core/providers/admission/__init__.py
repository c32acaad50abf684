"""How many requests may be under way at once, and how many tokens a minute: what stands between a session and its provider.

`base` is the seam, `limiter` the one that is shipped, `domain` its bookkeeping, `mounting` how a runtime comes by one,
`admitted` where a request passes.
"""

from lmx_core.providers.admission.admitted import Admitted, Limits, default_key
from lmx_core.providers.admission.base import Admission, Lease, is_admission
from lmx_core.providers.admission.domain import Load
from lmx_core.providers.admission.limiter import ProviderLimiter
from lmx_core.providers.admission.mounting import maker

__all__ = [
    "Admission",
    "Admitted",
    "Lease",
    "Limits",
    "Load",
    "ProviderLimiter",
    "default_key",
    "is_admission",
    "maker",
]
