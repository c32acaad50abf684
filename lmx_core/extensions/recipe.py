"""The standard recipe of a coding agent: which extensions, under which names, in which order (EX-10).

A dict and no list, so that a host says what it changes by name: `recipe.pop("search")`, `recipe["search"] = Mine`. A host that
copied the list instead would miss what later releases add.
"""

from __future__ import annotations

from lmx_core.extensions.apply_patch import ApplyPatch
from lmx_core.extensions.interactive import Interactive
from lmx_core.extensions.planning import Planning
from lmx_core.extensions.search import Search
from lmx_core.extensions.small_model import SmallModel
from lmx_core.harness.assemble import Spec
from lmx_core.providers.base import Provider, model_metadata


def coding(model: str, provider: Provider, interactive: bool = False) -> dict[str, Spec]:
    """The recipe by name, in the order in which `assemble(base, recipe.values())` applies it.

    It is for one session: `model` and `provider` are what it will run with, `interactive` says that somebody can answer.
    A model that its provider calls small gets `small_model`, every other one `search`, `planning`, and `interactive` where
    somebody can. `apply_patch` exchanges `edit` for a model that was taught patches, and is there for the others too, so that a
    resume on another model finds it.
    What reads a workspace, asks for permission or runs programs of its own is not here: it needs a word of the host's.
    """
    small = model_metadata(provider, model).get("small", False)
    first: dict[str, Spec] = {"small_model": SmallModel} if small else {"search": Search}
    recipe = first | {"apply_patch": ApplyPatch}
    if not small:
        recipe |= {"planning": Planning} | ({"interactive": Interactive} if interactive else {})
    return recipe
