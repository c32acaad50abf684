"""What a small model on this machine is asked with (design.md section 4, "Local models")."""

from __future__ import annotations

from pathlib import Path

from support.llama_server import model_file

from lmx_core import prompt
from lmx_core.extensions import SmallModel, coding
from lmx_core.harness.assemble import assemble
from lmx_core.harness.harness import Harness
from lmx_core.providers.default import DefaultProvider
from lmx_core.providers.local import servers


def test_a_short_prompt_and_no_other_tools() -> None:
    made = assemble(Harness(), [SmallModel])
    assert made.system == prompt.short() and made.tools is None and not made.host_tools
    assert len(prompt.short().encode()) <= 300 and prompt.short().isascii()


def test_a_prompt_that_was_chosen_is_kept() -> None:
    for chosen in ("Mine.", None):
        assert assemble(Harness.new(system=chosen), [SmallModel]).system == chosen
    assert assemble(Harness.new(system=prompt.default()), [SmallModel]).system == prompt.short(), "a resumed one"


def test_the_size_of_the_file_decides(tmp_path: Path) -> None:
    spec = f"local:{model_file(tmp_path / 'm.gguf', 2_048)}"
    provider = DefaultProvider()
    assert provider.model_metadata(spec) == {"context_window": 2_048, "small": True}
    assert list(coding(spec, provider)) == ["small_model", "apply_patch"]
    with (tmp_path / "m.gguf").open("ab") as file:
        file.truncate(servers.SMALL_BYTES)
    assert list(coding(spec, provider)) == ["search", "apply_patch", "planning"]
    assert provider.model_metadata("local:/none.gguf") == {}
