"""Where each provider is asked, and that `base_url` is one provider's and nobody else's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lmx.assembly import SessionFactory
from lmx.config.addresses import Addresses
from lmx.config.layers import load
from lmx.exit_status import CommandError
from lmx_core.providers.catalog import names

HERE, THERE = "http://gateway.example/v1", "http://other.example"


def addresses(tmp_path: Path, text: str, flags: dict[str, str] | None = None, **variables: str) -> Addresses:
    return Addresses(settings(tmp_path, text, flags, **variables))


def settings(tmp_path: Path, text: str, flags: dict[str, str] | None = None, **variables: str) -> Any:
    path = tmp_path / "config.toml"
    path.write_text(text)
    path.chmod(0o600)
    return load({"config": str(path), **(flags or {})}, {"HOME": str(tmp_path), **variables}, names())


def test_c3_4_the_general_address_is_that_of_the_provider_lmx_starts_on(tmp_path: Path) -> None:
    """C3-4: whatever model is chosen later; until one is, it is nobody's."""
    known = addresses(tmp_path, f'base_url = "{HERE}"')
    assert dict(known) == {}
    known.start("openai:gpt-5")
    known.start("anthropic:claude-sonnet-4-5")
    assert dict(known) == {"openai": HERE} and known.get("anthropic") is None


def test_the_ways_to_ask_one_vendor_share_its_address(tmp_path: Path) -> None:
    known = addresses(tmp_path, f'base_url = "{HERE}"')
    known.start("openai-responses:gpt-5")
    assert dict(known) == {"openai": HERE}


@pytest.mark.parametrize(
    ("flags", "variables", "told"),
    [
        ({}, {}, THERE),
        ({"base_url": HERE}, {}, HERE),
        ({}, {"LMX_BASE_URL": HERE}, HERE),
    ],
)
def test_a_providers_own_address_goes_before_the_files_and_after_what_this_start_says(
    tmp_path: Path, flags: dict[str, str], variables: dict[str, str], told: str
) -> None:
    text = f'base_url = "http://filed.example"\n[providers.openai]\nbase_url = "{THERE}"\n'
    known = addresses(tmp_path, text, flags, **variables)
    assert dict(known) == {"openai": THERE}
    known.start("openai:gpt-5")
    assert dict(known) == {"openai": told} and len(known) == 1


def test_what_is_only_asked_after_decides_nothing(tmp_path: Path) -> None:
    known = addresses(tmp_path, f'base_url = "{HERE}"')
    with known.supposing("ollama:-"):
        assert dict(known) == {"ollama": HERE}
    assert dict(known) == {}
    known.start("openai:gpt-5")
    with known.supposing("ollama:-"):
        assert dict(known) == {"openai": HERE}


def test_an_address_that_is_none_is_refused_by_its_field(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"providers\.openai\.base_url takes an address"):
        addresses(tmp_path, '[providers.openai]\nbase_url = "localhost:80"\n')


def test_no_key_is_sent_to_another_providers_address(tmp_path: Path) -> None:
    """Choosing a model asks every provider with a key what it has; each is asked at its own address."""
    environ = {"HOME": str(tmp_path), "OPENAI_API_KEY": "o", "ANTHROPIC_API_KEY": "a", "XAI_API_KEY": "x"}
    read = settings(tmp_path, f'base_url = "{HERE}"\n[providers.xai]\nbase_url = "{THERE}"\n')
    factory = SessionFactory(read, cwd=tmp_path, environ=environ, interactive=False)
    factory.check("openai:gpt-5")
    routes = [
        factory.provider._routes.to(model) for model in ("openai:gpt-5", "anthropic:claude-sonnet-4-5", "xai:grok-4")
    ]
    assert [(route.target.base_url, route.key) for route in routes] == [
        (HERE, "o"),
        ("https://api.anthropic.com", "a"),
        (THERE, "x"),
    ]


def test_a_model_with_which_something_is_wrong_does_not_take_the_address(tmp_path: Path) -> None:
    """Without its key nothing is asked, and the person chooses another."""
    read = settings(tmp_path, f'base_url = "{HERE}"')
    factory = SessionFactory(
        read, cwd=tmp_path, environ={"HOME": str(tmp_path), "OPENAI_API_KEY": "o"}, interactive=True
    )
    with pytest.raises(CommandError):
        factory.check("anthropic:claude-sonnet-4-5")
    factory.check("openai:gpt-5")
    assert dict(factory.addresses) == {"openai": HERE}
