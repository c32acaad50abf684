"""Shapes by which well-known credentials are recognised, for a host that asks for it.

Each begins with letters that its issuer chose to be found by, so that hardly anything else looks like it. Entropy, the other
way to guess, takes every commit id and every lock file for a key. All shapes but private keys are one run of letters, digits
and `_ . -`, at most `LONGEST` of them: that is what lets a stream be searched in pieces.
"""

from __future__ import annotations

import functools
import re

SHORTEST = 8
LEAST_DIFFERENT = 5
"""Characters of a secret, and how many of them differ."""

LONGEST = 4_096

_SHAPES = {
    "anthropic_key": r"sk-ant-[A-Za-z0-9_-]{20,200}",
    "stripe_key": r"[sr]k_(?:live|test)_[A-Za-z0-9]{16,200}",
    "api_key": r"sk-[A-Za-z0-9_-]{20,200}",
    "github_token": r"gh[pousr]_[A-Za-z0-9]{36,251}|github_pat_[A-Za-z0-9_]{22,244}",
    "gitlab_token": r"glpat-[A-Za-z0-9_-]{20,200}",
    "slack_token": r"xox[abeoprs]-[A-Za-z0-9-]{10,200}",
    "aws_access_key_id": r"(?:AKIA|ASIA)[A-Z0-9]{16}",
    "google_api_key": r"AIza[A-Za-z0-9_-]{35}",
    "npm_token": r"npm_[A-Za-z0-9]{36}",
    "hugging_face_token": r"hf_[A-Za-z0-9]{34,60}",
    "jwt": r"eyJ[A-Za-z0-9_-]{10,1200}\.eyJ[A-Za-z0-9_-]{10,2000}\.[A-Za-z0-9_-]{16,800}",
}
PRIVATE_KEY = "private_key"
KEY_BEGIN = r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"


@functools.cache
def shapes() -> re.Pattern[str]:
    """Matched where one may begin; the group says which it is. Compiled for whoever asks for it: that takes milliseconds."""
    kinds = (f"(?P<{name}>(?<![A-Za-z0-9])(?:{shape})(?![A-Za-z0-9]))" for name, shape in _SHAPES.items())
    return re.compile("|".join([f"(?P<{PRIVATE_KEY}>{KEY_BEGIN})", *kinds]))


BEGINNINGS = re.compile(
    r"sk-|[sr]k_|gh[pousr]_|github_pat_|glpat-|xox[abeoprs]-|AKIA|ASIA|AIza|npm_|hf_|eyJ|-----BEGIN "
)
BEGINNING_CHARS = 11
"""How they begin, and how long that is at most. A text without one of these holds none."""

TOKEN_END = re.compile(r"[A-Za-z0-9_.-]*\Z")
"""The run at the end of a text that may still become one."""

# --- private keys: several lines, perhaps numbered, quoted or escaped ---------------------------------------------------

KEY_END = "-----END"
KEY_CHARS = 16_384
"""A key ends after so many, if it does not say that it ends."""
KEY_OPENING = re.compile(r"-----BEGIN [A-Z0-9 ]{0,60}-{0,4}\Z")
KEY_OPENING_CHARS = 80
"""At the end of a text: what may become the first line of a key, and how long that is at most."""
KEY_RUN = re.compile(r"(?<!\\)[A-Za-z0-9/][A-Za-z0-9+/]{15,}={0,2}")
"""The secret part of a line inside a key. Behind a backslash stands a letter of an escape, and a `+` may be a patch's."""
