"""Attachments on the wires: text between marks, images and documents as parts, media of results where they may stand (LL-5)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.adapters import request

from lmx_core.entry import make
from lmx_core.providers.wire.anthropic import AnthropicMessages
from lmx_core.providers.wire.attached import attached_text, media
from lmx_core.providers.wire.base import Target, Wire
from lmx_core.providers.wire.ollama import OllamaChat
from lmx_core.providers.wire.openai_chat import OpenAIChat
from lmx_core.providers.wire.openai_responses import OpenAIResponses

CHAT, ANTHROPIC, RESPONSES, OLLAMA = OpenAIChat(), AnthropicMessages(), OpenAIResponses(), OllamaChat()
FILE = {"ref": "@a.py", "path": "a.py", "kind": "file", "text": "1\tx = 1", "bytes": 6}
IMAGE = {"ref": "@s.png", "path": "s.png", "kind": "image", "media_type": "image/png", "data": "aW1n", "bytes": 3}
PDF = {
    "ref": "@p.pdf",
    "path": "p.pdf",
    "kind": "document",
    "media_type": "application/pdf",
    "data": "cGRm",
    "bytes": 3,
}
GONE = {"ref": "@b.py", "path": "b.py", "kind": "error", "text": "b.py does not exist."}
PLACES = 'see\n\n<attachment path="a.py" kind="file">\n1\tx = 1\n</attachment>'


def body(wire: Wire, *said: Any) -> list[dict[str, Any]]:
    target = Target(provider="openai", model="m", base_url="https://x/v1", custom=True)
    sent = json.loads(wire.body(request("x:y", *said), target))
    messages: list[dict[str, Any]] = sent.get("messages") or sent["input"]
    return messages


def prompt(*attachments: Any, text: str = "see") -> tuple[str, dict[str, Any]]:
    return "user", {"text": text, "attachments": list(attachments)}


def answer(*ids: str) -> tuple[str, dict[str, Any]]:
    return "assistant", {"content": [], "tool_calls": [{"id": id, "name": "read", "arguments": {}} for id in ids]}


def result(id: str, *attachments: Any, **fields: Any) -> tuple[str, dict[str, Any]]:
    return "tool_result", {
        "call_id": id,
        "name": "read",
        "output": f"out {id}",
        "attachments": list(attachments),
        **fields,
    }


def test_ll_5_text_stands_behind_the_words_between_marks():
    """LL-5: on both wires, as plain text, which every compatible server takes."""
    assert body(CHAT, prompt(FILE)) == [{"role": "user", "content": PLACES}]
    (message,) = body(ANTHROPIC, prompt(FILE))
    assert [block["text"] for block in message["content"]] == [PLACES]


def test_ll_5_what_could_not_be_attached_is_told():
    assert body(CHAT, prompt(GONE))[0]["content"].endswith(
        '<attachment path="b.py" kind="error">\nb.py does not exist.\n</attachment>'
    )


def test_ll_5_images_and_documents_of_a_prompt_are_parts_for_chat_completions():
    (message,) = body(CHAT, prompt(IMAGE, PDF))
    text, image, document = message["content"]
    assert text["type"] == "text"
    assert text["text"].startswith('see\n\n<attachment path="s.png" kind="image" />')
    assert image == {"type": "image_url", "image_url": {"url": "data:image/png;base64,aW1n"}}
    assert document == {
        "type": "file",
        "file": {"filename": "p.pdf", "file_data": "data:application/pdf;base64,cGRm"},
    }


def test_ll_5_images_and_documents_of_a_prompt_are_blocks_for_anthropic():
    (message,) = body(ANTHROPIC, prompt(IMAGE, PDF))
    image, document, text = message["content"]
    assert image == {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aW1n"}}
    assert document == {
        "type": "document",
        "source": {"type": "base64", "media_type": "application/pdf", "data": "cGRm"},
    }
    assert text["text"].startswith("see")


def test_ll_5_attachments_of_a_prompt_are_parts_for_responses():
    assert body(RESPONSES, prompt(FILE)) == [{"role": "user", "content": PLACES}]
    (message,) = body(RESPONSES, prompt(IMAGE, PDF))
    text, image, document = message["content"]
    assert text["type"] == "input_text"
    assert image == {"type": "input_image", "image_url": "data:image/png;base64,aW1n"}
    assert document == {"type": "input_file", "filename": "p.pdf", "file_data": "data:application/pdf;base64,cGRm"}


def test_ll_5_media_of_results_follow_the_last_of_their_wave_for_responses():
    sent = body(RESPONSES, "go", answer("a", "b"), result("a", IMAGE), result("b"))
    assert [item.get("type") for item in sent[3:5]] == ["function_call_output"] * 2
    label, image = sent[5]["content"]
    assert "call a of read" in label["text"]
    assert image["type"] == "input_image"


def test_ll_5_images_stand_beside_the_text_for_ollama():
    assert body(OLLAMA, prompt(FILE)) == [{"role": "user", "content": PLACES}]
    (message,) = body(OLLAMA, prompt(IMAGE, PDF))
    assert message["images"] == ["aW1n"]
    sent = body(OLLAMA, "go", answer("a", "b"), result("a", IMAGE), result("b"))
    assert [message["role"] for message in sent[2:]] == ["tool", "tool", "user"]
    assert "call a of read" in sent[4]["content"]
    assert sent[4]["images"] == ["aW1n"]


def test_ll_5_media_of_a_result_are_nested_in_it_for_anthropic():
    *_, message = body(ANTHROPIC, "go", answer("a"), result("a", IMAGE))
    (block,) = message["content"]
    assert block["type"] == "tool_result"
    assert block["content"] == [
        {"type": "text", "text": "out a"},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aW1n"}},
    ]


def test_an_error_with_media_is_text_alone_for_anthropic():
    *_, message = body(ANTHROPIC, "go", answer("a"), result("a", IMAGE, error=True))
    (block,) = message["content"]
    assert (block["content"], block["is_error"]) == ("out a", True)


@pytest.mark.parametrize("after", [[], ["go on"], [("assistant", {"content": [{"type": "text", "text": "ok"}]})]])
def test_ll_5_media_of_results_follow_the_last_of_their_wave_for_chat_completions(after: list[Any]):
    """LL-5: labelled with the call, and never between two results, which servers refuse."""
    sent = body(CHAT, "go", answer("a", "b"), result("a", IMAGE), result("b"), *after)
    assert [message["role"] for message in sent[2:5]] == ["tool", "tool", "user"]
    label, image = sent[4]["content"]
    assert label["text"] == "What the call a of read returned beside its text: s.png"
    assert image["type"] == "image_url"
    assert len(sent) == 5 + len(after)


def test_ll_5_other_kinds_of_a_result_are_dropped():
    unknown = {"kind": "audio", "media_type": "audio/wav", "data": "YQ==", "path": "a.wav"}
    assert body(CHAT, "go", answer("a"), result("a", unknown))[-1]["content"] == "out a"
    *_, message = body(ANTHROPIC, "go", answer("a"), result("a", unknown))
    assert message["content"][0]["content"] == "out a"


def test_an_attachment_alone_is_no_empty_message():
    assert body(CHAT, prompt(FILE, text=""))[0]["content"].startswith("<attachment")


def test_a_path_cannot_end_its_mark():
    odd = FILE | {"path": 'a" kind="x">\n<b'}
    entry = make(id="e", seq=0, type="user", payload={"text": "", "attachments": [odd]}, at_ms=0)
    assert (
        attached_text(entry).split("\n")[0] == '<attachment path="a&quot; kind=&quot;x&quot;>&#10;&lt;b" kind="file">'
    )


@pytest.mark.parametrize("attachments", [None, "text", [1, None], [{"kind": "image"}], [{"kind": "image", "data": 7}]])
def test_what_a_foreign_writer_put_there_is_no_media(attachments: Any):
    entry = make(id="e", seq=0, type="user", payload={"text": "x", "attachments": attachments}, at_ms=0)
    assert media(entry) == []
    assert body(CHAT, ("user", entry.payload))[0]["role"] == "user"
