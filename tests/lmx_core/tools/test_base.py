"""What a tool says about itself becomes a descriptor; what it leaves out is conservative; what it says wrongly is refused."""

from __future__ import annotations

import msgspec
import pytest

from lmx_core.calls import Descriptor, Effects, Identity, Policy, Runtime
from lmx_core.errors import ConfigError
from lmx_core.tools.base import approval, descriptor, is_async


class Bare:
    """The least that is a tool."""

    name = "bare"
    description = "Does something."
    schema = {"type": "object", "properties": {}}  # noqa: RUF012 - as tools are written

    def run(self, args, context):
        return "done"


class Async(Bare):
    async def run(self, args, context):
        return "done"


class Streaming(Bare):
    async def run(self, args, context):
        yield "done"


def made(base=Bare, **attributes):
    return type("Made", (base,), attributes)()


def test_to_1_de_1_what_is_omitted_is_conservative():
    """TO-1, DE-1: alone, of unknown effect, asked by policy, with the session's time and 30,000 bytes."""
    described = descriptor(Bare())
    assert described.effects == Effects(effect="unknown")
    assert described.policy == Policy(approval="policy")
    assert described.runtime == Runtime(
        timeout_ms=None, max_output_bytes=30_000, concurrency="exclusive", cancellation="abandon_thread"
    )
    assert described.identity.canonical_name == "host/bare" and described.origin == {"type": "host_module"}


def test_to_1_the_shorthands():
    described = descriptor(made(read_only=True, parallel_safe=True))
    assert described.effects.effect == "read" and described.runtime.concurrency == "parallel"


def test_to_1_declared_metadata_wins_over_the_shorthands():
    metadata = {"effects": Effects(effect="write"), "runtime": Runtime(concurrency="exclusive")}
    described = descriptor(made(read_only=True, parallel_safe=True, metadata=metadata))
    assert described.effects.effect == "write" and described.runtime.concurrency == "exclusive"


@pytest.mark.parametrize(
    ("base", "how"), [(Bare, "abandon_thread"), (Async, "cancel_task"), (Streaming, "cancel_task")]
)
def test_se_8_the_descriptor_says_how_a_call_is_given_up(base, how):
    assert descriptor(base()).runtime.cancellation == how
    assert descriptor(made(base, metadata={"runtime": Runtime()})).runtime.cancellation == how
    assert is_async(base()) == (how == "cancel_task")


def test_every_declared_part_is_taken():
    metadata = {
        "effects": Effects(effect="external", external_cost={"maximum_usd": 1.0}),
        "policy": Policy(approval="always"),
        "runtime": Runtime(timeout_ms=5, max_output_bytes=7, concurrency="resource", resource_key="k"),
        "identity": Identity(name="bare", namespace="acme", contract_version=3, implementation_digest="d"),
        "origin": {"type": "configured_instance"},
        "output_schema": {"type": "object"},
        "content_types": ("text", "image"),
    }
    described = descriptor(made(Async, metadata=metadata))
    assert {part: getattr(described, part) for part in metadata} == metadata


def test_de_2_the_descriptor_has_the_contract_and_not_the_executor():
    body = descriptor(Bare()).to_dict()
    assert body["descriptor_version"] == 1 and body["lifecycle"]["resume"] == "host_rebind"
    assert set(body) == {
        *(
            "descriptor_version",
            "identity",
            "origin",
            "interface",
            "effects",
            "policy",
            "runtime",
            "lifecycle",
            "digest",
        )
    }
    assert body["effects"]["class"] == "unknown"
    msgspec.json.encode(body)


def test_the_implementation_digest_tells_two_implementations_apart():
    here, there = descriptor(Bare()), descriptor(Async())
    assert here.identity.implementation_digest != there.identity.implementation_digest
    assert descriptor(Bare()) == here
    assert descriptor(made(__module__="nowhere")).identity.implementation_digest is None


@pytest.mark.parametrize(
    ("attributes", "word"),
    [
        ({"name": ""}, "name"),
        ({"name": None}, "name"),
        ({"name": "two words"}, "letters"),
        ({"name": "x" * 65}, "64"),
        ({"description": " "}, "description"),
        ({"schema": None}, "schema"),
        ({"schema": {"type": "string"}}, "object"),
        ({"schema": {"type": "object", "properties": []}}, "properties"),
        ({"schema": {"type": "object", "x": {1, 2}}}, "JSON"),
        ({"schema": {"type": "object", "x": float("nan")}}, "JSON"),
        ({"metadata": []}, "metadata"),
        ({"metadata": {"effect": Effects()}}, "'effect'"),
        ({"metadata": {"effects": {"class": "read"}}}, "Effects"),
        ({"metadata": {"effects": Effects(effect="reading")}}, "effects.effect"),
        ({"metadata": {"policy": Policy(approval="maybe")}}, "policy.approval"),
        ({"metadata": {"runtime": Runtime(concurrency="many")}}, "runtime.concurrency"),
        ({"metadata": {"runtime": Runtime(timeout_ms=0)}}, "limits"),
        ({"metadata": {"runtime": Runtime(max_output_bytes=0)}}, "limits"),
    ],
)
def test_to_4_what_is_wrong_is_named(attributes, word):
    with pytest.raises(ConfigError, match=word):
        descriptor(made(**attributes))


@pytest.mark.parametrize("word", ["never", "always", "policy"])
def test_de_3_a_tool_reports_what_it_would_have_asked(word):
    assert approval(made(metadata={"policy": Policy(approval=word)})) == word


def test_a_descriptor_is_data():
    assert isinstance(descriptor(Bare()), Descriptor)
