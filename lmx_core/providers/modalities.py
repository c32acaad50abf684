"""What models read besides text, as far as their names tell (RE-3).

What is not known is no: a request with a part that its model does not take is refused, and so is every one after it, for the
part stays in the conversation. So a family is listed once its maker documents it, and only for the wire it is spoken to over.
"""

from __future__ import annotations

import re

NONE: frozenset[str] = frozenset()
IMAGE = frozenset({"image"})
BOTH = frozenset({"image", "document"})

_FAMILIES: dict[str, tuple[tuple[str, frozenset[str]], ...]] = {
    "anthropic": (
        (r"claude-(2|instant)", NONE),
        (r"claude-3-(opus|sonnet|haiku)", IMAGE),
        (r"claude-", BOTH),
    ),
    "openai": (
        (r".*(audio|realtime|transcribe|tts|search|image)", NONE),
        (r"o1-(mini|preview)|o3-mini", NONE),
        (r"(chatgpt-)?gpt-4o|gpt-4\.[15]|gpt-[5-9]|o[134](-|$)", BOTH),
        (r"gpt-4-turbo", IMAGE),
    ),
    "google": ((r"gemini-", IMAGE),),
    "xai": ((r"grok-code", NONE), (r"grok-[4-9]|grok-.*vision", IMAGE)),
    "zai_coding_plan": ((r"glm-[\d.]+v", IMAGE),),
}
"""By vendor, the first that fits from the beginning of a model's name."""

_VENDORS = {"x-ai": "xai", "z-ai": "zai_coding_plan"}


def of_model(vendor: str, model: str) -> frozenset[str]:
    """`image` and `document`, where a model of this name is known to read them. OpenRouter's names begin with the vendor."""
    if vendor == "openrouter":
        maker, _, model = model.partition("/")
        return of_model(_VENDORS.get(maker, maker), model)
    families = _FAMILIES.get(vendor, ())
    return next((found for pattern, found in families if re.match(pattern, model)), NONE)
