"""The person's side of the gate: what is remembered is said, and where an answer is not taken the person hears of it."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest
from support.judging import subject

from lmx.bridge.gate import Gate
from lmx.conversation import effects as fx
from lmx.conversation import messages as msg
from lmx_core import Allow
from lmx_core.errors import InvalidAnswer, UnknownCall
from lmx_core.permissions import Rules


class Surface:
    def __init__(self):
        self.told: list[object] = []

    def tell(self, message: object) -> None:
        self.told.append(message)


class Session:
    """Takes an answer, or raises what it was given."""

    def __init__(self, error: Exception | None = None):
        self.error, self.answers = error, []

    async def resolve_tool(self, call_id, verdict):
        self.answers.append((call_id, verdict))
        if self.error is not None:
            raise self.error

    answer = resolve_tool


def gate(session: Session) -> tuple[Gate, Surface, list]:
    kept: list = []
    permission = SimpleNamespace(remember=lambda *args, **how: kept.append((args, how)), mode="ask")
    host = SimpleNamespace(permission=permission, rules=Rules())
    surface = Surface()
    return Gate(host, SimpleNamespace(live=lambda: session), surface), surface, kept


@pytest.mark.parametrize(
    "terms, scope",
    (
        ({}, "for this repository"),
        ({"scope": "session"}, "for this session"),
        ({"for_ms": 7_200_000}, "for 2hr"),
    ),
)
def test_apr_8_a_remembered_rule_is_said_with_its_scope_and_how_to_forget_it(terms, scope):
    """APR-8: on the transcript, where it can be read again."""
    session = Session()
    made, surface, kept = gate(session)
    asyncio.run(made.resolve(fx.Resolve(call_id="c1", verdict="allow", rule="Bash(npm test:*)", **terms)))
    told = [message.text for message in surface.told if isinstance(message, msg.Say)]
    assert told == [f"remembered {scope}: Bash(npm test:*); /permissions forget Bash(npm test:*) takes it back"]
    assert len(kept) == 1 and len(session.answers) == 1


@pytest.mark.parametrize(
    "command, rules",
    (
        ("git push origin main", ["Bash(git push:*)"]),
        ("npm run build && npm test", ["Bash(npm run build:*)", "Bash(npm test:*)"]),
        ("rm -rf build", []),
        ("sudo make", []),
        ("python3 -c 'print(1)'", []),
    ),
)
def test_apr_8_what_is_offered_is_no_wider_than_the_program_that_is_shown(tmp_path, command, rules):
    """APR-8: the gate's own offers; wider ones have to be typed."""
    from lmx_core.permissions.effects import Act
    from lmx_core.permissions.suggest import suggestions

    asked = subject("bash", tmp_path, {"command": command})
    offered = [
        one["rule"] for one in suggestions(asked, Act("confined", "bash can change anything"), "ask") if "rule" in one
    ]
    assert offered == rules


def test_c01_the_part_that_was_chosen_is_what_the_session_is_told():
    session = Session()
    made, _, _ = gate(session)
    asyncio.run(made.resolve(fx.Resolve(call_id="c1", verdict="allow", hunks=(1, 3))))
    asyncio.run(made.resolve(fx.Resolve(call_id="c2", verdict="allow", text={"a": "b"})))
    assert session.answers == [
        ("c1", Allow(approved_by="person", hunks=(1, 3))), ("c2", Allow(approved_by="person", text={"a": "b"})),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "error, message", ((InvalidAnswer("not \x1bthat"), msg.AnswerRefused), (UnknownCall("c1"), msg.AnswerLost))
)
@pytest.mark.parametrize(
    "effect", (fx.Resolve(call_id="c1", verdict="allow"), fx.AnswerQuestion("c1", {"status": "declined"}))
)
def test_apr_11_an_answer_that_is_not_taken_comes_back(error, message, effect):
    """APR-11, QST-6: refused with a sentence, or too late."""
    made, surface, _ = gate(Session(error))
    asyncio.run(made.resolve(effect) if isinstance(effect, fx.Resolve) else made.answer(effect))
    assert [type(one) for one in surface.told] == [message] and surface.told[0].call_id == "c1"
    assert "\x1b" not in str(surface.told[0])
