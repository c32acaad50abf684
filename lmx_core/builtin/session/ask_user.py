"""`ask_user`: asks the person in front of the session, and waits (TOOL-9, AS-1).

It is no default tool: a model that may ask where nobody sits stops there. A host that has a person adds it, and one that finds
there is none answers `unavailable`; in neither case is an option taken as chosen.
"""

from __future__ import annotations

from typing import Any

import msgspec

from lmx_core.calls import Effects, Policy, Result, Runtime, ToolContext
from lmx_core.errors import ToolError
from lmx_core.tools import questions as asking

KIND = "question"
DECLINED = (
    "The person declined to answer. Do not ask the same again: carry on with what you know, and say what you assumed."
)
UNAVAILABLE = "Nobody can be asked here. Carry on with what you know, and say what you assumed."

_TEXT = {"type": "string"}
_QUESTION: dict[str, Any] = {
    "question": _TEXT,
    "type": {"type": "string", "enum": list(asking.KINDS), "description": "Default single_choice"},
    "options": {
        "type": "array",
        "description": "2 to 6, for choices and ranking. Something else can always be answered: do not offer it.",
        "items": {
            "type": "object",
            "properties": {"label": _TEXT, "description": _TEXT, "diagram": _TEXT},
            "required": ["label"],
            "additionalProperties": False,
        },
    },
    "diagram": {"type": "string", "description": "Plain text, at most 5 lines of 72 columns"},
}


class AskUser:
    """Gives the answers in words, and in its structured content as they were given, beside `told`, a text for each."""

    name = "ask_user"
    description = (
        "Ask the person what only they can decide, and wait. Not for permission, and not for what you can find out. "
        "question asks one thing; questions asks 1 to 4 at once."
    )
    schema = {  # noqa: RUF012 - a constant; the protocol asks for an attribute
        "type": "object",
        "properties": {
            **_QUESTION,
            "questions": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": _QUESTION,
                    "required": ["question"],
                    "additionalProperties": False,
                },
            },
        },
        "additionalProperties": False,
    }
    metadata = {  # noqa: RUF012 - as above
        "origin": {"type": "built_in"},
        "effects": Effects(effect="attention", resource_types=["human_attention"]),
        "policy": Policy(approval="never", requires_human_channel=True),
        "runtime": Runtime(concurrency="exclusive", timeout_ms=300_000),
    }

    async def run(self, args: dict[str, Any], context: ToolContext) -> Result:
        questions = asking.read(args)
        if context.park is None:
            raise ToolError(UNAVAILABLE)
        payload = {"tool": self.name, "questions": msgspec.to_builtins(questions)}
        reply = asking.checked(questions, await context.park(context.call_id, KIND, payload))
        match reply.get("status"):
            case None:
                return _answered(questions, reply["answers"])
            case "declined":
                return Result(model_text=DECLINED, structured_content={"status": "declined"})
            case status:
                return Result(model_text=UNAVAILABLE, error=True, structured_content={"status": status})


def _answered(questions: list[asking.Question], answers: list[dict[str, Any]]) -> Result:
    told = asking.told(questions, answers)
    if len(questions) == 1:
        text = f"The person answered: {told[0]}"
    else:
        lines = [f"{i}. {q.question}\n   → {said}" for i, (q, said) in enumerate(zip(questions, told, strict=True), 1)]
        text = "\n".join(["The person answered:", *lines])
    return Result(model_text=text, structured_content={"status": "answered", "answers": answers, "told": told})
