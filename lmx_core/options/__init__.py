"""The options of a session: one row an option (`table`), what is right for a value (`checks`), which value wins (`layers`)."""

from msgspec import UNSET, UnsetType

from lmx_core.options.layers import MODEL_EXAMPLE, check_model, layered, listed_models, refuse_unknown, validate
from lmx_core.options.table import OPTIONS, Option, Options

__all__ = [
    "MODEL_EXAMPLE",
    "OPTIONS",
    "UNSET",
    "Option",
    "Options",
    "UnsetType",
    "check_model",
    "layered",
    "listed_models",
    "refuse_unknown",
    "validate",
]
