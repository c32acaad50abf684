"""What `Runtime(provider_limiter=)` stands for: options of the shipped limiter, a limiter of the host's own, or what makes one.

Checked when the runtime is made and made when it is mounted, so that each mount begins with an empty one (RT-4).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from lmx_core.clock import Clock
from lmx_core.errors import ConfigError
from lmx_core.providers.admission.base import Admission, is_admission
from lmx_core.providers.admission.limiter import ProviderLimiter

_SHAPE = (
    "provider_limiter= must be a dict of options for ProviderLimiter, an object with checkout, reconcile, release and "
    "penalize, a function without arguments that makes one, or None"
)
_OPTIONS = tuple(inspect.signature(ProviderLimiter).parameters)


def maker(given: Any, clock: Clock | None) -> Callable[[], Admission | None]:
    """What makes the limiter of a mount. A shipped one lives in `clock`'s time unless its options say otherwise.

    Raises ConfigError for what stands for none.
    """
    if given is None:
        return lambda: None
    if isinstance(given, Mapping):
        return _shipped({"clock": clock, **given})
    if is_admission(given):
        return lambda: _checked(given)
    if callable(given):
        return lambda: _checked(given())
    raise ConfigError(_SHAPE)


def _shipped(options: Mapping[Any, Any]) -> Callable[[], Admission]:
    if unknown := [name for name in options if name not in _OPTIONS]:
        raise ConfigError(f"a provider limiter has no option {str(unknown[0])!r}; it has {', '.join(_OPTIONS)}")
    ProviderLimiter(**options)  # a wrong value is found now
    return lambda: ProviderLimiter(**options)


def _checked(made: Any) -> Admission:
    if not is_admission(made):
        raise ConfigError(_SHAPE)
    limiter: Admission = made
    return limiter
