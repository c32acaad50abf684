"""What a wire adapter is, and the parts both share.

An adapter is pure: it turns a `Request` into bytes and the bytes of an answer into events. It never sees a socket, a clock or a
key's origin, which is why a new protocol is one file and joins the conformance suite as one row.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar
from urllib.parse import urlsplit

import msgspec

from lmx_core.entry import LEVELS, Entry, json_shaped
from lmx_core.errors import Failure
from lmx_core.providers.failures import Reported
from lmx_core.providers.models import ModelFacts
from lmx_core.providers.wire.attached import attached_text
from lmx_core.request import Request, ToolSpec

if TYPE_CHECKING:
    from lmx_core.providers.wire.answer import Answer

T = TypeVar("T")

EMPTY_RESULT = "(the tool returned nothing)"
EMPTY_ERROR = "(the tool failed without saying why)"
EMPTY_PROMPT = "(an empty message)"

OPENAI_COMBINATORS = ("oneOf", "anyOf", "allOf", "enum", "not")
"""What OpenAI refuses at the top level of a tool's schema."""

UNANSWERED = "unanswered"
"""What `finish` returns for an answer that holds nothing and did not stop normally (LL-7)."""


class Malformed(Exception):
    """The stream holds something that is not this protocol. The attempt failed; another may succeed."""


class ErrorEvent(Exception):
    """The server reported an error after its answer had begun."""

    def __init__(self, reported: Reported):
        super().__init__("the server reported an error")
        self.reported = reported


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """Whom a request is for.

    `provider` is the vendor and `model` as in the spec; `custom` says that the base URL is not the vendor's own;
    `local_max_tokens` is the output limit where nothing else sets one; `facts` what the table of models knows, if it lists it.
    """

    provider: str
    model: str
    base_url: str
    custom: bool = False
    local_max_tokens: int | None = None
    facts: ModelFacts | None = None


class Framing(Protocol):
    """Cuts what was read into events: those that `block` completed, and on `close` what is left."""

    def feed(self, block: bytes) -> list[bytes]:
        """Raises `EventTooLong`."""

    def close(self) -> list[bytes]: ...


class Decoder(Protocol):
    """Folds one answer. `feed` takes the data of one event; `ended` is true after the protocol's end mark."""

    ended: bool

    def framing(self) -> Framing:
        """What finds the events in the bytes of a response."""

    def feed(self, data: bytes) -> None:
        """Raises `Malformed` or `ErrorEvent`."""

    def whole(self, data: bytes) -> None:
        """Takes an answer that came in one piece, from a server that does not stream. Raises as `feed` does."""

    def finish(self) -> str | None:
        """The answer's stop reason after everything was read; `UNANSWERED`; or None when it is not whole."""


class Wire(Protocol):
    """One protocol. `root` gives the address under which `path` (where requests go) and `/models` are."""

    name: str
    path: str

    def root(self, base_url: str) -> str: ...

    def headers(self, key: str | None) -> dict[str, str]: ...

    def check(self, target: Target, tools: Sequence[ToolSpec]) -> Failure | None: ...

    def body(self, request: Request, target: Target) -> bytes: ...

    def decoder(self, answer: Answer, target: Target) -> Decoder: ...


def decode(decoder: msgspec.json.Decoder[T], data: bytes) -> T:
    """One event's JSON as the decoder's type. Raises `Malformed`.

    The fast way refuses two things that servers do send and that repeating the request would not cure, bad UTF-8 and half a
    surrogate pair; those go a slower way. What that leaves in a text is mended when the text is emitted.
    """
    if _is_deep(data):
        raise _unreadable(data)
    try:
        return decoder.decode(data)
    except msgspec.DecodeError:
        pass
    try:
        loose = json.loads(data.decode("utf-8", "replace"), parse_float=_finite, parse_constant=_finite)
        value: T = msgspec.convert(loose, decoder.type, strict=False)
    except (ValueError, msgspec.ValidationError):
        raise _unreadable(data) from None
    return value


def _finite(text: str) -> float:
    """A number that the transcript can hold. Raises ValueError."""
    if not math.isfinite(number := float(text)):
        raise ValueError(f"{text} is no JSON number")
    return number


def _unreadable(data: bytes) -> Malformed:
    return Malformed(f"sent an event that cannot be read: {data[:120].decode('utf-8', 'replace')}")


_NESTING = re.compile(rb'"(?:[^"\\]++|\\.)*+"?|[\[{]|[\]}]', re.DOTALL)


def _is_deep(data: bytes) -> bool:
    """Is this JSON nested deeper than the transcript keeps? Decoded all the same, one answer would end the session."""
    if data.count(b"[") + data.count(b"{") <= LEVELS:
        return False
    depth = 0
    for found in _NESTING.finditer(data):
        if (mark := found[0]) in b"[{":
            depth += 1
            if depth > LEVELS:
                return True
        elif mark in b"]}":
            depth -= 1
    return False


def arguments(text: str) -> tuple[dict[str, Any], str | None]:
    """A call's arguments: `(the object, None)`, or `({}, why not)`. Nothing at all means no arguments."""
    if not text.strip():
        return {}, None
    if _is_deep(text.encode("utf-8", "surrogatepass")):
        return {}, f"the arguments are nested more than {LEVELS} levels deep"
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError) as error:
        try:
            value = json_shaped(json.loads(text))
        except ValueError:
            return {}, f"the arguments are not JSON: {error}"
    if not isinstance(value, dict):
        return {}, f"the arguments are not one JSON object but {type(value).__name__}"
    return value, None


def openai_root(base_url: str) -> str:
    """A base URL without a path gets `/v1`, so both spellings of a server's address work."""
    base = base_url.rstrip("/")
    return base if urlsplit(base).path else base + "/v1"


def bearer(key: str | None) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"} if key else {}


def count(value: Any) -> int:
    """A number of tokens as a server tells it; 0 for what cannot be one."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 2**53 else 0


def without_nul(value: Any) -> Any:
    """`value` with U+0000 shown as U+FFFD, for providers refuse a request that holds one."""
    if isinstance(value, str):
        return value.replace("\0", "\ufffd")
    if isinstance(value, list | tuple):
        return [without_nul(item) for item in value]
    if isinstance(value, Mapping):
        return {without_nul(key): without_nul(item) for key, item in value.items()}
    return value


def encode(value: Any) -> bytes:
    """`value` as JSON that a provider accepts."""
    data = msgspec.json.encode(value)
    return msgspec.json.encode(without_nul(value)) if b"\\u0000" in data else data


def result_text(entry: Entry) -> str:
    """What the model reads of a `tool_result` entry: never blank (TO-3)."""
    output = str(entry.payload.get("output") or "")
    if output.strip():
        return output
    return EMPTY_ERROR if entry.payload.get("error") else EMPTY_RESULT


def prompt_text(entry: Entry) -> str:
    """What the model reads of a `user` or `system` entry, with the text that is attached: never blank."""
    text = str(entry.payload.get("text") or "")
    attached = attached_text(entry)
    return "\n\n".join(part for part in (text, attached) if part.strip()) or EMPTY_PROMPT


def answer_text(entry: Entry) -> str:
    """The words of an `assistant` entry without its thinking."""
    return "".join(part.get("text") or "" for part in entry.payload.get("content") or () if part.get("type") == "text")


def refused_schema(tools: Sequence[ToolSpec], combinators: Sequence[str], provider: str) -> Failure | None:
    """The failure for the first tool whose schema has one of `combinators` at its top level."""
    for tool in tools:
        for word in combinators:
            if word in tool.schema:
                message = f"{provider} refuses the schema of tool {tool.name!r}, which has {word} at its top level"
                return Failure(code="unsupported_schema", message=message, category="other", provider=provider)
    return None
