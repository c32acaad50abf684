"""Which headers a host adds to its requests (GW-2), which of an answer it sees, and which nobody gets to see (LL-12, EVT-23).

Nothing is shown unless it was asked for by name: headers of a gateway name accounts, machines and routes. One that carries a
credential is not shown even then, for an event is logged by whoever subscribes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

import msgspec

from lmx_core.entry import valid_text
from lmx_core.errors import ConfigError
from lmx_core.providers.failures import redact

MAX_VALUE = 1_000

# Compiled by `re` when first used, and not by every start.
_CREDENTIAL = (
    r"(^|[-_])(authorization|authenticate|authentication-info|cookie2?|api[-_]?key|secret|password|passwd|credentials?|"
    r"(access|auth|bearer|csrf|id|refresh|security|session|xsrf)[-_]?token|token|signature|jwt)$"
)
"""`x-ratelimit-remaining-tokens` counts; `x-amz-security-token` opens."""

_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


class Disclosed(msgspec.Struct, frozen=True, kw_only=True):
    """`names` in lowercase; `model_header`: the one in which a gateway says which model answered."""

    names: tuple[str, ...] = ()
    model_header: str | None = None

    @property
    def wanted(self) -> tuple[str, ...]:
        return self.names if self.model_header is None else (*self.names, self.model_header)

    def of(self, headers: Mapping[str, str], secrets: tuple[str, ...] = ()) -> dict[str, str]:
        """What of an answer's headers is shown, under lowercase names."""
        found = ((name, headers.get(name)) for name in self.names if not re.search(_CREDENTIAL, name))
        return {name: valid_text(redact(value, secrets)[:MAX_VALUE]) for name, value in found if value is not None}

    def model(self, headers: Mapping[str, str]) -> str | None:
        return (headers.get(self.model_header) or None) if self.model_header else None


def disclosed(names: Sequence[str], model_header: str | None) -> Disclosed:
    """Raises ConfigError for what is no list of header names."""
    listed = [*names, *([] if model_header is None else [model_header])]
    if isinstance(names, str) or not all(isinstance(name, str) and _NAME.fullmatch(name) for name in listed):
        raise ConfigError("response_headers= takes a list of header names, such as ['x-request-id']")
    lowered = tuple(dict.fromkeys(name.lower() for name in names))
    return Disclosed(names=lowered, model_header=None if model_header is None else model_header.lower())


class Added(msgspec.Struct, frozen=True, kw_only=True):
    """What goes out beside an adapter's own headers: `explicit` ones, which stand in the place of any of the same name, and
    those of the active trace, which never do."""

    explicit: dict[str, str] = {}
    trace: Callable[[], dict[str, str]] | None = None

    def over(self, own: Mapping[str, str], *, traced: bool = True) -> dict[str, str]:
        """`own` with what is added. Names are compared without their case; `traced` False leaves the trace out."""
        trace = self.trace() if traced and self.trace is not None else {}
        sent: dict[str, tuple[str, str]] = {}
        for headers in (trace, own, self.explicit):
            sent |= {name.lower(): (name, value) for name, value in headers.items()}
        return dict(sent.values())

    @property
    def secrets(self) -> tuple[str, ...]:
        """Their values, and what follows a scheme such as `Basic`."""
        told = [value for name, value in self.explicit.items() if re.search(_CREDENTIAL, name.lower())]
        return (*told, *(value.rpartition(" ")[2] for value in told))

    def __repr__(self) -> str:
        return "Added"


NOTHING = Added()


def added(explicit: object, *, propagate: bool) -> Added:
    """Raises ConfigError for what are no headers, and for a trace without OpenTelemetry. Its message holds no value."""
    if not isinstance(explicit, Mapping) or not all(_is_header(name, value) for name, value in explicit.items()):
        raise ConfigError("request_headers= takes a dict of header names and values, all text on one line")
    return Added(explicit=dict(explicit), trace=_active_trace() if propagate else None)


def _is_header(name: object, value: object) -> bool:
    if not isinstance(name, str) or not isinstance(value, str) or _NAME.fullmatch(name) is None:
        return False
    return value.isascii() and value.isprintable()


def _active_trace() -> Callable[[], dict[str, str]]:
    try:
        from lmx_core.otel import trace_headers
    except ImportError:
        raise ConfigError("propagate_trace_context= needs OpenTelemetry: pip install 'lmx[otel]'") from None
    return trace_headers
