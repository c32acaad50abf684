"""Configuration files: what is taken from them, what is refused and with which words, and which layer wins."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmx.config import files, layers, schema, state
from lmx.config.layers import Settings
from lmx.exit_status import CommandError

PROVIDERS = ("anthropic", "openai", "ollama")


def load(home: Path, flags: dict[str, str] | None = None, **environ: str) -> Settings:
    return layers.load(flags or {}, {"HOME": str(home), **environ}, PROVIDERS)


def write(home: Path, text: str, name: str = "config.toml", mode: int = 0o600) -> Path:
    path = home / ".lmx" / name
    path.parent.mkdir(mode=0o700, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)
    return path


def refusal(home: Path, text: str, name: str = "config.toml", mode: int = 0o600) -> str:
    write(home, text, name, mode)
    with pytest.raises(CommandError) as caught:
        load(home, {} if name == "config.toml" else {"config": str(home / ".lmx" / name)})
    assert caught.value.status == 2
    return str(caught.value)


# --- files ------------------------------------------------------------------------------------------------------------


def test_the_template_is_made_once_private_and_says_nothing(tmp_path: Path) -> None:
    """C3-75: 0600 in 0700, every key in it commented out, never written again."""
    settings = load(tmp_path)
    path = tmp_path / ".lmx" / "config.toml"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600 and stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert settings.values == {} and settings.state == tmp_path / ".lmx"
    assert all(line.startswith("#") or not line for line in path.read_text().split("\n"))
    path.write_text("max_turns = 3\n")
    assert load(tmp_path).get("max_turns") == 3
    assert path.read_text() == "max_turns = 3\n"


def test_the_template_without_its_comment_signs_is_a_valid_file(tmp_path: Path) -> None:
    lines = [line.removeprefix("# ") for line in schema.template().split("\n")]
    write(tmp_path, "\n".join(line for line in lines if line.startswith("[") or " = " in line))
    assert load(tmp_path).get("permissions.mode") == "ask"


def test_a_template_that_cannot_be_made_costs_only_the_state(tmp_path: Path) -> None:
    """C10-18: one notice with path and reason; nothing is remembered."""
    (tmp_path / ".lmx").write_text("a file in the way")
    settings = load(tmp_path)
    assert settings.state is None
    (notice,) = settings.notices
    assert "config.toml" in notice


def test_a_named_file_must_exist(tmp_path: Path) -> None:
    """C10-17, C3-54."""
    for flags, environ in (({"config": "/no/such.toml"}, {}), ({}, {"LMX_CONFIG": "/no/such.toml"})):
        with pytest.raises(CommandError, match=r"/no/such\.toml") as caught:
            load(tmp_path, flags, **environ)
        assert caught.value.status == 2
    assert not (tmp_path / ".lmx").exists()


@pytest.mark.parametrize(
    ("mode", "text", "refused"),
    [
        (0o644, "max_turns = 3", False),
        (0o644, '[providers.openai]\napi_key = "sk-1"', True),
        (0o640, '[providers.openai]\napi_key = "sk-1"', True),
        (0o644, '[providers.openai]\napi_key = ""', False),
        (0o666, "", True),
        (0o620, "max_turns = 3", True),
        (0o600, '[providers.openai]\napi_key = "sk-1"', False),
    ],
)
def test_a_file_with_an_unsafe_mode_is_refused(tmp_path: Path, mode: int, text: str, refused: bool) -> None:
    """C7-7, C12-7: writable by others never, readable by others not with a key; the sentence names the chmod."""
    write(tmp_path, text, mode=mode)
    if not refused:
        load(tmp_path)
        return
    with pytest.raises(CommandError, match="chmod 600") as caught:
        load(tmp_path)
    assert caught.value.status == 2 and "sk-1" not in str(caught.value)


def test_json_is_read_with_the_same_keys(tmp_path: Path) -> None:
    path = write(tmp_path, '\ufeff{"permissions": {"mode": "plan"}, "max_turns": 7}', "other.json")
    settings = load(tmp_path, {"config": str(path)})
    assert settings.get("permissions.mode") == "plan" and settings.get("max_turns") == 7
    assert settings.state == path.parent and not (tmp_path / ".lmx" / "config.toml").exists()


@pytest.mark.parametrize(
    ("name", "text", "facts"),
    [
        ("config.toml", "[permissions\nmode = 1", ["line 1"]),
        ("config.toml", 'mode = "a"\nmode = "b"', ["overwrite"]),
        ("config.toml", '[permissions]\nmode = "yolo"', ["permissions.mode takes one of", "accept_edits", "plan"]),
        ("config.toml", '[permissions]\nmodes = "ask"', ["permissions", "modes", "mode"]),
        ("config.toml", '[permissions]\ndeny = ["Bash(touch:*)", "Read("]', ["permissions.deny[1]", "'Read('"]),
        ("config.toml", 'permissions = "ask"', ["permissions takes a table"]),
        ("config.toml", "version = 2", ["version takes 1"]),
        ("config.toml", "max_turns = 0", ["max_turns takes a whole number"]),
        ("config.toml", "max_turns = true", ["max_turns"]),
        ("config.toml", 'max_requests = "9"', ["max_requests"]),
        ("config.toml", "context_window = 0", ["context_window takes a whole number"]),
        ("config.toml", 'auto_compaction = "no"', ["auto_compaction takes true or false"]),
        ("config.toml", "keep_recent_tokens = 1.5", ["keep_recent_tokens takes a whole number"]),
        ("config.toml", "summary_model = 1", ["summary_model takes text"]),
        ("config.toml", "scrub_credentials = 0", ["scrub_credentials takes true or false"]),
        ("config.toml", 'credential_allowlist = "A"', ["credential_allowlist takes a list"]),
        ("config.toml", 'base_url = "localhost:80"', ["base_url takes an address"]),
        ("config.toml", 'sessions_dir = "here"', ["sessions_dir takes a path"]),
        ("config.toml", '[providers.anthropc]\nmodel = "x"', ["anthropc", "anthropic"]),
        ("config.toml", '[providers.openai]\napi_kee = "sk-1"', ["providers.openai", "api_key"]),
        (
            "config.toml",
            '[providers.openai]\napi_key = "sk-1\\nsk-2"',
            ["providers.openai.api_key takes text on one line"],
        ),
        ("config.toml", '[permission]\nmode = "read_only"', ["permission", "permissions"]),
        ("config.toml", 'Model = "a:b"', ["model"]),
        ("config.toml", "scrub_credential = true", ["scrub_credentials"]),
        ("config.toml", "sandbx = true", ["sandbox"]),
        ("config.toml", "max_cost = 1", ["max_cost_usd"]),
        ("config.toml", "continuation = 3", ["continuation takes true, false or"]),
        ("config.toml", "continuation = { max_output_continuations = 11 }", ["continuation takes"]),
        ("config.toml", "continuation = { most = 1 }", ["continuation takes"]),
        ("config.toml", 'max_cost_usd = "5"', ["max_cost_usd takes a number of dollars"]),
        ("config.toml", "max_cost_usd = -1", ["max_cost_usd takes"]),
        ("config.toml", "max_cost_usd = true", ["max_cost_usd takes"]),
        ("config.toml", "max_cost_usd = inf", ["max_cost_usd takes"]),
        ("other.json", '{"max_turns": 1,}', ["line 1"]),
        ("other.json", '{"permissions": {"mode": "read_only"}, "permissions": {}}', ["permissions", "twice"]),
        ("other.json", "[]", ["one JSON object"]),
        ("other.json", '{"max_turns": NaN}', ["NaN"]),
        ("other.json", "[" * 100_000, ["nested too deeply"]),
    ],
)
def test_what_cannot_be_accepted_stops_the_start(tmp_path: Path, name: str, text: str, facts: list[str]) -> None:
    """C10-16 (case C29): the sentence names file, field and what it takes; it never falls back to looser behaviour."""
    sentence = refusal(tmp_path, text, name)
    assert name in sentence and not [fact for fact in facts if fact not in sentence], sentence
    assert "sk-1" not in sentence


def test_an_unreadable_file_stops_the_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    path = write(tmp_path, "max_turns = 3")
    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(CommandError, match="Permission denied") as caught:
        files.read(path)
    assert caught.value.status == 2


def test_a_link_to_nothing_a_silent_pipe_and_an_endless_file_stop_the_start(tmp_path: Path) -> None:
    """C10-16, case C29: the person's settings are not in force, so there is no going on without them."""
    (tmp_path / "dangling").symlink_to("gone")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "endless").symlink_to("/dev/zero")
    os.mkfifo(tmp_path / "pipe", 0o600)
    for name, fact in (
        ("dangling", "link to gone"),
        ("loop", "cannot be read"),
        ("pipe", "pipe"),
        ("endless", "larger"),
    ):
        with pytest.raises(CommandError, match=fact) as caught:
            files.read(tmp_path / name)
        assert caught.value.status == 2 and str(tmp_path / name) in str(caught.value)
        assert files.create(tmp_path / name) is None
    with pytest.raises(CommandError, match="nothing is there"):
        (tmp_path / ".lmx").mkdir()
        (tmp_path / ".lmx" / "config.toml").symlink_to("gone")
        load(tmp_path)


def test_a_pipe_that_is_named_is_read(tmp_path: Path) -> None:
    """`--config <(...)`."""
    reader, writer = os.pipe()
    os.write(writer, b"max_turns = 3")
    os.close(writer)
    assert files.read(Path(f"/dev/fd/{reader}")) == {"max_turns": 3}
    os.close(reader)


def test_bytes_that_are_no_text_stop_the_start(tmp_path: Path) -> None:
    path = write(tmp_path, "")
    path.write_bytes(b"a = '\xff'")
    with pytest.raises(CommandError, match="byte 5"):
        load(tmp_path)


def test_an_unknown_key_is_a_notice_with_a_suggestion(tmp_path: Path) -> None:
    write(tmp_path, "max_turn = 3\nweather = 1")
    settings = load(tmp_path)
    assert "max_turns" in settings.notices[0] and "weather" in settings.notices[1]
    assert settings.values == {}


def test_notices_come_before_the_failure(tmp_path: Path) -> None:
    """C2-10."""
    write(tmp_path, "weather = 1\nmax_turns = 0")
    with pytest.raises(CommandError) as caught:
        load(tmp_path)
    assert "weather" in caught.value.notices[0]


def test_an_empty_key_is_a_placeholder(tmp_path: Path) -> None:
    write(tmp_path, '[providers.openai]\napi_key = " "')
    settings = load(tmp_path)
    assert "providers.openai.api_key" in settings.notices[0]
    assert settings.get("providers.openai.api_key") is None


def test_settings_do_not_show_their_values(tmp_path: Path) -> None:
    """C7-6."""
    write(tmp_path, '[providers.openai]\napi_key = "sk-1"')
    assert "sk-1" not in repr(load(tmp_path))


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
NAMES = st.sampled_from(sorted({key.name.split(".")[0] for key in schema.KEYS})) | st.text(max_size=8)


@given(st.dictionaries(NAMES, JSON_VALUES, max_size=4))
def test_any_document_is_accepted_or_refused_in_words(document: dict[str, object]) -> None:
    try:
        values = schema.check(document, "file", PROVIDERS, [])
    except CommandError as error:
        assert error.status == 2 and str(error).startswith("file: ")
    else:
        assert set(values) <= {name for name in values if name.split(".")[0] in document}


# --- layers -----------------------------------------------------------------------------------------------------------


def test_each_layer_beats_the_one_below(tmp_path: Path) -> None:
    """C3-2, C3-7, C3-8, C3-53, C3-58, C1-50: flag over variable over config.toml over managed.toml; blank is not set."""
    write(tmp_path, "max_turns = 1\nmax_requests = 1", "managed.toml")
    assert load(tmp_path).get("max_turns") == 1
    write(tmp_path, "max_turns = 2")
    assert load(tmp_path).get("max_turns") == 2
    assert load(tmp_path, LMX_MAX_TURNS="3").get("max_turns") == 3
    assert load(tmp_path, LMX_MAX_TURNS=" ").get("max_turns") == 2
    settings = load(tmp_path, {"max_turns": "4"}, LMX_MAX_TURNS="3")
    assert settings.get("max_turns") == 4 and settings.sources["max_turns"] == "flag"
    assert settings.get("max_requests") == 1 and settings.sources["max_requests"] == "managed"


@pytest.mark.parametrize("text", ["0", "-1", "x", "1.5", "٣", "9" * 30, ""])
@pytest.mark.parametrize("name", ["max_turns", "max_requests"])
def test_a_limit_that_is_none_names_flag_and_variable(tmp_path: Path, name: str, text: str) -> None:
    """C1-51."""
    with pytest.raises(CommandError) as caught:
        load(tmp_path, {name: text})
    assert caught.value.status == 2
    assert f"--{name.replace('_', '-')}" in str(caught.value) and f"LMX_{name.upper()}" in str(caught.value)


def test_a_cost_is_dollars_and_may_be_nothing(tmp_path: Path) -> None:
    """C1-52, C3-9: flag over variable over file; 0 is a ceiling."""
    write(tmp_path, "max_cost_usd = 3")
    assert load(tmp_path).get("max_cost_usd") == 3
    assert load(tmp_path, LMX_MAX_COST_USD=".5").get("max_cost_usd") == 0.5
    assert load(tmp_path, {"max_cost_usd": "0"}, LMX_MAX_COST_USD="1").get("max_cost_usd") == 0.0
    for text in ("-1", "x", "1e3", "inf", "nan", "1,5", "", ".", "٣", "9" * 20):
        with pytest.raises(CommandError, match=r"--max-cost-usd.*LMX_MAX_COST_USD") as caught:
            load(tmp_path, {"max_cost_usd": text})
        assert caught.value.status == 2


@pytest.mark.parametrize(
    "url", ["", "x", "ftp://h", "http://", "http://h:99999", "http://a b", "http://[::1", "http://h#x"]
)
def test_an_address_that_is_none_is_refused(tmp_path: Path, url: str) -> None:
    """C1-53, C3-4."""
    with pytest.raises(CommandError, match="--base-url"):
        load(tmp_path, {"base_url": url})


def test_the_environment_names_state_and_sessions(tmp_path: Path) -> None:
    """C3-55, C3-56, C3-37, C1-49, C1-65: LMX_HOME moves the state and nothing else."""
    settings = load(tmp_path, LMX_HOME=str(tmp_path / "state"))
    assert settings.state == tmp_path / "state" and settings.sessions_dir == tmp_path / ".lmx" / "sessions"
    write(tmp_path, 'sessions_dir = "~/talks"')
    assert load(tmp_path).sessions_dir == tmp_path / "talks"
    assert load(tmp_path, LMX_SESSIONS_DIR="/v").sessions_dir == Path("/v")
    assert load(tmp_path, {"sessions_dir": "/f"}, LMX_SESSIONS_DIR="/v").sessions_dir == Path("/f")
    assert load(tmp_path, {"sessions_dir": "rel"}).sessions_dir == Path.cwd() / "rel"


def test_config_none_reads_and_makes_nothing(tmp_path: Path) -> None:
    write(tmp_path, "broken [")
    settings = load(tmp_path, {"config": "none"})
    assert settings.values == {} and settings.config is None and settings.state is None and settings.bare_start
    kept = load(tmp_path, {"config": "none"}, LMX_HOME=str(tmp_path / "state"))
    assert kept.state == tmp_path / "state" and not kept.bare_start


def test_the_flag_beats_the_variable_that_names_the_file(tmp_path: Path) -> None:
    assert load(tmp_path, {"config": "none"}, LMX_CONFIG="/no/such.toml").config is None


def test_a_repository_has_no_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """C3-50, C12-5: neither a `.lmx` folder nor a `.env` of the working directory is read."""
    home, repo = tmp_path / "home", tmp_path / "repo"
    home.mkdir()
    (repo / ".lmx").mkdir(parents=True)
    (repo / ".lmx" / "config.toml").write_text('[permissions]\nmode = "full_auto"\n')
    (repo / ".env").write_text("LMX_MODEL=evil:model\n")
    monkeypatch.chdir(repo)
    assert load(home).values == {}


def test_the_working_directory_is_one(tmp_path: Path) -> None:
    """C1-43."""
    (tmp_path / "file").write_text("")
    for wrong in ("no-such", "file", "nul\0", "long" * 999):
        with pytest.raises(CommandError) as caught:
            layers.working_directory({"cwd": wrong if "\0" in wrong else str(tmp_path / wrong)}, os.environ)
        assert caught.value.status == 2
    assert layers.working_directory({"cwd": str(tmp_path)}, os.environ) == tmp_path


def test_a_shell_directory_that_is_gone_is_left_with_a_flag(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """C1-43."""
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    for flags in ({}, {"cwd": "relative"}):
        with pytest.raises(CommandError, match="no longer exists; name another with -C"):
            layers.working_directory(flags, os.environ)
    assert layers.working_directory({"cwd": str(tmp_path)}, os.environ) == tmp_path


# --- state ------------------------------------------------------------------------------------------------------------


def test_the_remembered_model_survives_and_damage_does_not_hurt(tmp_path: Path) -> None:
    """C3-81: 0600, atomic, other keys kept; an unreadable file remembers nothing."""
    assert state.remembered_model(None) is None and state.remembered_model(tmp_path) is None
    (tmp_path / "state.json").write_text('{"later": 1}')
    state.remember_model(tmp_path, "openai:gpt-6-sol")
    assert state.remembered_model(tmp_path) == "openai:gpt-6-sol"
    assert json.loads((tmp_path / "state.json").read_text())["later"] == 1
    assert stat.S_IMODE((tmp_path / "state.json").stat().st_mode) == 0o600
    for damage in ("", "[]", '{"model": 3}', "{"):
        (tmp_path / "state.json").write_text(damage)
        assert state.remembered_model(tmp_path) is None
    assert [path.name for path in tmp_path.iterdir()] == ["state.json"]


def test_a_rule_with_a_misspelt_name_is_told_at_the_start(tmp_path: Path) -> None:
    path = write(tmp_path, '[permissions]\ndeny = ["Bsh", "mcp_github_x", "Bash(rm:*)"]\n')
    bash, mcp = load(tmp_path).notices
    assert bash == f"{path}:2: 'Bsh': there is no tool Bsh; did you mean Bash?" and "mcp__github__x" in mcp
