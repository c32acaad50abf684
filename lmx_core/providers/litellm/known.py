"""Which prefixes of a spec litellm serves, and how each is opened: known without importing it, which would cost seconds.

The names and key variables are a generated table (`known.json`, made by `tests/support/litellm_table.py`): without one, an
unknown prefix could only be told from a known one by starting a worker, and a mistyped name would cost four seconds and a
retry.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Literal

import msgspec

Opens = Literal["key", "optional", "ambient"]
"""A key that must be there; one that is sent if there is one; credentials that litellm finds in the environment it is given."""

AMBIENT: dict[str, tuple[str, ...]] = {
    "azure": ("AZURE_",),
    "azure_ai": ("AZURE_",),
    "bedrock": ("AWS_",),
    "bedrock_mantle": ("AWS_", "BEDROCK_MANTLE_"),
    "cloudflare": ("CLOUDFLARE_",),
    "databricks": ("DATABRICKS_",),
    "gigachat": ("GIGACHAT_",),
    "heroku": ("HEROKU_",),
    "oci": ("OCI_",),
    "predibase": ("PREDIBASE_",),
    "sagemaker": ("AWS_",),
    "sagemaker_chat": ("AWS_",),
    "sagemaker_nova": ("AWS_",),
    "sap": ("AICORE_",),
    "snowflake": ("SNOWFLAKE_",),
    "vertex_ai": ("VERTEX_", "VERTEXAI_", "GOOGLE_APPLICATION_", "GOOGLE_CLOUD_", "CLOUDSDK_"),
    "vertex_ai_beta": ("VERTEX_", "VERTEXAI_", "GOOGLE_APPLICATION_", "GOOGLE_CLOUD_", "CLOUDSDK_"),
    "watsonx": ("WATSONX_", "WX_"),
}
"""Providers whose credentials are more than one key, or found on the machine; and how the names of their variables begin."""

OPTIONAL = frozenset(
    "docker_model_runner hosted_vllm lemonade litellm_proxy llamafile lm_studio oobabooga triton xinference".split()
)
"""Servers of one's own, which may ask for a key or not."""

NO_ADDRESS = frozenset("hosted_vllm litellm_proxy lm_studio oobabooga triton xinference".split())
"""Those of them for which litellm presumes no address."""


class _Table(msgspec.Struct, frozen=True):
    source: str
    keys: dict[str, tuple[str, ...]]


@cache
def table() -> _Table:
    return msgspec.json.decode(Path(__file__).with_name("known.json").read_bytes(), type=_Table)


def names() -> tuple[str, ...]:
    """Every prefix that litellm serves for lmx, in alphabetical order."""
    return tuple(table().keys)


def opens(name: str) -> Opens:
    return "ambient" if name in AMBIENT else "optional" if name in OPTIONAL else "key"


def key_variables(name: str) -> tuple[str, ...]:
    """The variables that hold its one key; none where its credentials are more than that."""
    return () if name in AMBIENT else table().keys[name]
