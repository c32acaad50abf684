"""Makes the tables of prices, windows and abilities from litellm's catalogue: `lmx_core/providers/models.json`, and for the
providers that litellm serves `lmx_core/providers/litellm/models.json`.

    VENV-WITH-LITELLM/bin/python tests/support/model_table.py

The catalogue is read as a file: importing litellm would cost seconds. Only what a provider of lmx can be asked is kept, one
model a line, so that a new release shows as a readable difference.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from lmx_core.providers.litellm import known

PROVIDERS = Path(__file__).parents[2] / "lmx_core" / "providers"
TABLE = PROVIDERS / "models.json"
THROUGH_LITELLM = PROVIDERS / "litellm" / "models.json"
CATALOGUE = "model_prices_and_context_window_backup.json"
VENDORS = {
    "anthropic": "anthropic",
    "openai": "openai",
    "gemini": "google",
    "xai": "xai",
    "deepseek": "deepseek",
    "zai": "zai",
}
"""litellm's names and ours."""

_FAMILIES = {"bedrock_converse": "bedrock", "azure_text": "azure"}
"""Names that litellm has in its catalogue only, and what a spec begins with."""

RATES = {
    "input": "input_cost_per_token",
    "output": "output_cost_per_token",
    "cache_read": "cache_read_input_token_cost",
    "cache_write": "cache_creation_input_token_cost",
}
_TIER = re.compile(r"input_cost_per_token_above_(\d+)k_tokens")
_SWITCHED_OFF = frozenset(("anthropic", "deepseek", "zai"))
"""Where a request can switch thinking off, whatever the catalogue says of the effort `none`."""


def price(entry: Mapping[str, Any], suffix: str = "") -> dict[str, float] | None:
    """Dollars a million tokens; None where nothing is known. Both rates 0 is no gift but a gap in the catalogue (C8-8)."""
    found = {ours: entry.get(theirs + suffix) for ours, theirs in RATES.items()}
    if found["input"] is None or found["output"] is None or not (found["input"] or found["output"]):
        return None
    return {name: round(rate * 1e6, 6) for name, rate in found.items() if rate is not None}


def efforts(vendor: str, entry: Mapping[str, Any]) -> list[str]:
    """The levels of reasoning effort, least first; none for a model that does not reason."""
    if not entry.get("supports_reasoning"):
        return []
    off = entry.get("supports_none_reasoning_effort", vendor in _SWITCHED_OFF) and not entry.get("thinking_always_on")
    levels: Iterable[str] = entry.get("reasoning_effort_levels") or (
        *(("minimal",) if entry.get("supports_minimal_reasoning_effort") else ()),
        *(("low",) if entry.get("supports_low_reasoning_effort", True) else ()),
        *("medium", "high"),
        *(("xhigh",) if entry.get("supports_xhigh_reasoning_effort") else ()),
        *(("max",) if entry.get("supports_max_reasoning_effort") else ()),
    )
    return [*(("none",) if off else ()), *levels]


def row(vendor: str, entry: Mapping[str, Any]) -> dict[str, Any]:
    """One model as the table has it; what is unknown is left out."""
    facts: dict[str, Any] = {
        "window": entry.get("max_input_tokens"),
        "max_output": entry.get("max_output_tokens"),
        "price": price(entry),
    }
    for key in entry:
        if (tier := _TIER.fullmatch(key)) and (rates := price(entry, f"_above_{tier[1]}k_tokens")):
            facts["above"] = {"tokens": int(tier[1]) * 1_000, "price": rates}
    reads = {"image": "supports_vision", "document": "supports_pdf_input"}
    facts["reads"] = [kind for kind, flag in reads.items() if entry.get(flag)] or None
    facts["efforts"] = efforts(vendor, entry) or None
    facts["no_tools"] = entry.get("supports_function_calling") is False or None
    endpoints = entry.get("supported_endpoints")
    if vendor == "openai":
        facts["chat_only"] = bool(endpoints and "/v1/responses" not in endpoints) or None
    return {key: value for key, value in facts.items() if value is not None}


def table(
    catalogue: Mapping[str, Mapping[str, Any]], source: str, vendors: Mapping[str, str] = VENDORS
) -> dict[str, Any]:
    models: dict[str, dict[str, Any]] = {vendor: {} for vendor in vendors.values()}
    for name, entry in catalogue.items():
        theirs = provider(str(entry.get("litellm_provider")))
        if theirs in vendors and entry.get("mode") in ("chat", "responses"):
            vendor = vendors[theirs]
            models[vendor].setdefault(name.removeprefix(f"{theirs}/"), row(vendor, entry))
    return {"source": source, "models": {vendor: rows for vendor, rows in models.items() if rows}}


def provider(theirs: str) -> str:
    """What a spec begins with, for what the catalogue calls a provider: `vertex_ai-anthropic_models` is of Vertex AI."""
    return _FAMILIES.get(theirs, "vertex_ai" if theirs.startswith("vertex_ai-") else theirs)


def text(made: Mapping[str, Any]) -> str:
    """The table with one model a line."""

    def dump(value: Any) -> str:
        return json.dumps(value, separators=(",", ":"))

    vendors = []
    for vendor, models in made["models"].items():
        lines = ",\n".join(f"{dump(name)}:{dump(facts)}" for name, facts in sorted(models.items()))
        vendors.append(f"{dump(vendor)}:{{\n{lines}\n}}")
    return f'{{"source":{dump(made["source"])},\n"models":{{\n' + ",\n".join(vendors) + "}}\n"


def main() -> None:
    spec = find_spec("litellm")
    if spec is None or not spec.origin:
        raise SystemExit(
            "litellm is not installed beside this interpreter: python3 -m venv X && X/bin/pip install litellm"
        )
    catalogue = json.loads(Path(spec.origin).with_name(CATALOGUE).read_text("utf-8"))
    source = f"litellm {version('litellm')}"
    TABLE.write_text(text(table(catalogue, source)), "utf-8")
    others = {name: name for name in known.names() if name not in VENDORS.values()}
    THROUGH_LITELLM.write_text(text(table(catalogue, source, others)), "utf-8")


if __name__ == "__main__":
    main()
