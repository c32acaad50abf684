"""`read` of images and documents (RD-3, RE-3), through the run path and on the real machine."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path
from typing import Any

import pytest
from support import tool_calls

from lmx_core.builtin.read import Read
from lmx_core.calls import Outcome
from lmx_core.environment.local import LocalEnvironment
from lmx_core.tools.seen import SeenFiles

pytestmark = pytest.mark.asyncio

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20
JPEG, GIF, WEBP, PDF = b"\xff\xd8\xff\xe0\0", b"GIF89a\0", b"RIFF\0\0\0\0WEBP", b"%PDF-1.7\n\0"
BOTH = frozenset({"image", "document"})


async def read(cwd: Path, path: str, modalities: frozenset[str] = BOTH, **context: Any) -> Outcome:
    given = tool_calls.context(cwd, input_modalities=modalities, **context)
    return await tool_calls.call(Read(), "read", {"path": path}, given)


def attachments(outcome: Outcome) -> list[dict[str, Any]]:
    return (outcome.result.attachments if outcome.result is not None else None) or []


@pytest.mark.parametrize(
    ("data", "kind", "media_type"),
    [
        (PNG, "image", "image/png"),
        (JPEG, "image", "image/jpeg"),
        (GIF, "image", "image/gif"),
        (WEBP, "image", "image/webp"),
        (PDF, "document", "application/pdf"),
    ],
)
async def test_rd_3_an_image_or_pdf_is_attached_by_its_bytes(tmp_path: Path, data: bytes, kind: str, media_type: str):
    """RD-3, RE-3: with the six fields; and RD-4: the session has seen it."""
    (tmp_path / "thing.txt").write_bytes(data)
    seen = SeenFiles()
    outcome = await read(tmp_path, "thing.txt", files=seen)
    assert outcome.outcome == "ok"
    assert attachments(outcome) == [
        {
            "kind": kind,
            "media_type": media_type,
            "data": base64.b64encode(data).decode(),
            "bytes": len(data),
            "size": f"{len(data)} bytes",
            "path": "thing.txt",
        }
    ]
    assert seen.seen(str(tmp_path / "thing.txt")) == hashlib.sha256(data).hexdigest()


async def test_rd_3_what_the_model_does_not_read_is_described(tmp_path: Path):
    """RD-3: unknown is no."""
    (tmp_path / "a.png").write_bytes(PNG)
    outcome = await read(tmp_path, "a.png", frozenset())
    assert outcome.outcome == "error"
    assert outcome.text == "a.png is a PNG image; it has 28 bytes and the model is not known to read one."


@pytest.mark.parametrize(("magic", "most"), [(PNG, 3_500_000), (PDF, 5_000_000)])
async def test_re_3_sizes_have_a_limit(tmp_path: Path, magic: bytes, most: int):
    (tmp_path / "most").write_bytes(magic.ljust(most))
    (tmp_path / "more").write_bytes(magic.ljust(most + 1))
    assert len(attachments(await read(tmp_path, "most"))) == 1
    over = await read(tmp_path, "more", environment=LocalEnvironment(environ={"PATH": "/nowhere"}))
    assert over.outcome == "error"
    assert f"larger than {most:,} bytes" in over.text


def converter(folder: Path, script: str) -> LocalEnvironment:
    """A machine whose `pdftotext` is this script."""
    folder.mkdir(exist_ok=True)
    program = folder / "pdftotext"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return LocalEnvironment(environ={"PATH": f"{folder}:/usr/bin:/bin"})


async def test_rd_3_a_pdf_that_cannot_be_attached_is_read_as_its_text(tmp_path: Path):
    """RD-3: through the environment, with the layout kept."""
    (tmp_path / "my paper.pdf").write_bytes(PDF)
    machine = converter(tmp_path / "bin", 'echo "$1 $2 $4"; cat "$3" | head -c 8; echo; echo last')
    outcome = await read(tmp_path, "my paper.pdf", frozenset(), environment=machine)
    assert outcome.outcome == "ok"
    assert outcome.text == "[the text of a PDF]\n1\t-layout -- -\n2\t%PDF-1.7\n3\tlast"


@pytest.mark.parametrize("script", ["exit 1", "printf '\\f'", "echo half; exit 3"])
async def test_rd_3_a_pdf_without_text_is_described(tmp_path: Path, script: str):
    (tmp_path / "a.pdf").write_bytes(PDF)
    outcome = await read(tmp_path, "a.pdf", frozenset(), environment=converter(tmp_path / "bin", script))
    assert outcome.outcome == "error"
    assert outcome.text == "a.pdf is a PDF document; it has 10 bytes and the model is not known to read one."


async def test_rd_3_without_a_converter_a_pdf_is_described(tmp_path: Path):
    (tmp_path / "a.pdf").write_bytes(PDF)
    (tmp_path / "empty").mkdir()
    machine = LocalEnvironment(environ={"PATH": str(tmp_path / "empty")})
    assert (await read(tmp_path, "a.pdf", frozenset(), environment=machine)).outcome == "error"
