"""Masking and putting back, whole and in pieces, without a session."""

from __future__ import annotations

import base64
import json
import string
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lmx_core.errors import ToolError
from lmx_core.secrets import placeholder
from lmx_core.secrets.masker import NOTHING, Forgotten, Masker
from lmx_core.secrets.policy import Secrets

KEY = b"the key of a test, 32 bytes long"
TOKEN = "tok-9Ab8Cd7Ef6Gh5"
LONGER = f"{TOKEN}-and-more-1"
SHARED = {"API_TOKEN": TOKEN, "LONG_TOKEN": LONGER, "OTHER_KEY": 'q"u\\ote/&+Ä7é end'}
GITHUB = "ghp_" + "a1B2c3D4e5F6" * 3
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.SflKxwRJSMeKKF2QT4fwpM"
PEM_LINES = ["MIIEvQIBADANBgkqhkiG9w0BAQEFAASC", "BKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj"]
PEM = "-----BEGIN PRIVATE KEY-----\n" + "\n".join(PEM_LINES) + "\n-----END PRIVATE KEY-----\n"


def masker(detect: bool = False, **values: str) -> Masker:
    return Secrets(values or SHARED, detect=detect, key=KEY).masker()


PIECES = st.sampled_from(
    [
        *SHARED.values(),
        *(value[:cut] for value in SHARED.values() for cut in (1, 3, 9)),
        base64.b64encode(f"user:{TOKEN}".encode()).decode(),
        quote(SHARED["OTHER_KEY"], safe=""),
        GITHUB,
        GITHUB[:20],
        JWT,
        "sk-",
        "-----BEGIN ",
        "-----BEGIN RSA PRIVATE KEY-----",
        *PEM_LINES,
        PEM,
        "-----END RSA PRIVATE KEY-----",
        "\n",
        " ",
        "=",
        "lmx-secret-API_TOKEN-0123456789abcdef",
    ]
)
TEXTS = st.lists(PIECES | st.text(st.sampled_from(string.printable + "äé"), max_size=8), max_size=12).map("".join)


@settings(max_examples=200)
@given(TEXTS, st.lists(st.integers(0, 60), max_size=30), st.booleans())
def test_a_stream_gives_the_text_that_one_go_gives_in_whatever_pieces_it_comes(text, sizes, detect):
    one, other = masker(detect), masker(detect)
    whole = one.mask(text)
    stream, said, at = other.stream(), [], 0
    for size in sizes:
        said.append(stream.feed(text[at : at + size]))
        at += size
    said += [stream.feed(text[at:]), stream.end()]
    assert "".join(said) == whole


@settings(max_examples=200)
@given(TEXTS, st.booleans())
def test_no_value_is_left_and_all_of_it_comes_back(text, detect):
    masks = masker(detect)
    masked = masks.mask(text)
    assert not [value for value in SHARED.values() if value in masked]
    assert masks.restore(masked) == text
    assert masks.restore(masks.mask(masked)) == text  # at the next border it is masked again
    assert detect or masks.mask(masked) == masked


@pytest.mark.parametrize(
    "form",
    [
        lambda value: value,
        lambda value: json.dumps(value),
        lambda value: json.dumps(value, ensure_ascii=False),
        lambda value: quote(value, safe=""),
        lambda value: base64.b64encode(value.encode()).decode(),
        lambda value: base64.b64encode(f"u:{value}".encode()).decode(),
        lambda value: base64.urlsafe_b64encode(f"us:{value}".encode()).decode(),
        lambda value: value.encode().hex(),
        lambda value: value.encode().hex().upper(),
    ],
)
@pytest.mark.parametrize("value", SHARED.values())
def test_the_usual_encodings_are_masked_and_come_back_as_they_were(form, value):
    masks, text = masker(), f"<{form(value)}>"
    masked = masks.mask(text)
    inside = form(value)[4:-4]
    assert inside not in masked and placeholder.PREFIX in masked
    assert masks.restore(masked) == text


def test_a_placeholder_tells_what_it_was_named_after():
    assert placeholder.named_after(masker().mask(TOKEN)) == "API_TOKEN"
    assert placeholder.named_after("anything else") == "anything else"
    odd = Secrets({"a b-c": TOKEN, "": LONGER}, key=KEY).masker()
    assert placeholder.named_after(odd.mask(TOKEN)) == "a_b_c" and placeholder.named_after(odd.mask(LONGER)) == "value"


def test_one_text_alone_is_masked():
    alone = Masker([("A", TOKEN)], KEY)
    assert alone.mask(TOKEN).startswith("lmx-secret-A-") and alone.mask(f"{TOKEN} ").endswith(" ")


def test_the_longer_of_two_values_counts_and_each_has_one_name():
    masks = masker()
    first, second = masks.mask(LONGER), masks.mask(TOKEN)
    assert first.startswith("lmx-secret-LONG_TOKEN-") and second.startswith("lmx-secret-API_TOKEN-")
    assert masks.mask(f"{LONGER}{TOKEN}") == f"{first}{second}"


def test_a_placeholder_is_the_same_in_another_session_under_the_same_key_and_tells_nothing_without():
    assert masker().mask(TOKEN) == masker().mask(TOKEN)
    other = Secrets(SHARED, key=b"another key of at least 16 bytes")
    assert other.masker().mask(TOKEN) != masker().mask(TOKEN)


def test_what_only_looks_like_a_placeholder_stays_as_it_is():
    forged = "lmx-secret-API_TOKEN-0123456789abcdef"
    masks = masker()
    assert masks.restore(f"a {forged} b") == f"a {forged} b"
    assert masks.named(forged) == [] == masks.named("nothing of the kind")
    real = masks.mask(TOKEN)
    assert masks.named(f"{forged} {real} {real}") == [real]


def test_a_placeholder_of_ours_whose_value_is_gone_is_never_written_out():
    name = masker(detect=True).mask(GITHUB)
    later = masker(detect=True)
    with pytest.raises(Forgotten, match=f"{name} stands for a credential that this session does not know any more"):
        later.restore(f"token = {name}")
    assert issubclass(Forgotten, ToolError)
    later.mask(GITHUB)  # seen again
    assert later.restore(name) == GITHUB


def test_what_is_cut_off_inside_a_value_is_masked_as_far_as_it_goes():
    masks = masker()
    assert masks.mask(f"x {TOKEN[:9]}") == f"x {TOKEN[:9]}"
    assert TOKEN[:9] not in masks.mask(f"x {TOKEN[:9]}", cut=True)
    assert masks.mask(f"x {TOKEN[:4]}", cut=True) == f"x {TOKEN[:4]}"
    assert masks.restore(masks.mask(f"x {TOKEN[:9]}", cut=True)) == f"x {TOKEN[:9]}"


@pytest.mark.parametrize("cut", range(len(TOKEN) + 3))
def test_a_value_is_masked_wherever_it_is_cut_in_two(cut):
    text = f"x{TOKEN}y"
    stream = masker().stream()
    assert stream.feed(text[:cut]) + stream.feed(text[cut:]) + stream.end() == masker().mask(text) != text


def test_a_value_is_masked_that_comes_character_by_character():
    stream, text = masker().stream(), f"x{TOKEN}y{LONGER}"
    assert "".join(map(stream.feed, text)) + stream.end() == masker().mask(text)


def test_a_stream_holds_back_only_what_may_be_the_beginning_of_a_value():
    stream = masker().stream()
    assert stream.feed("Password: ") == "Password: "
    assert stream.feed("tok-9Ab8Cd") == ""
    assert stream.held.startswith("lmx-secret-API_TOKEN_cut-")
    assert stream.feed("!") == "tok-9Ab8Cd!"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (GITHUB, "github_token"),
        ("github_pat_" + "1A" * 20, "github_token"),
        ("sk-ant-api03-" + "aB3-" * 8, "anthropic_key"),
        ("sk-proj-" + "aB3_" * 8, "api_key"),
        ("AKIA" + "ABCD1234EFGH5678", "aws_access_key_id"),
        ("xoxb-123456789012-abcdef", "slack_token"),
        ("AIza" + "a1b2c" * 7, "google_api_key"),
        ("glpat-" + "a1b2c" * 4, "gitlab_token"),
        ("sk_live_" + "a1b2c" * 4, "stripe_key"),
        ("npm_" + "a1B2c3" * 6, "npm_token"),
        ("hf_" + "a1B2c3" * 6, "hugging_face_token"),
        (JWT, "jwt"),
    ],
)
def test_the_detectors_know_the_usual_credentials(text, kind):
    masked = masker(detect=True).mask(f'"{text}"')
    assert masked.startswith(f'"lmx-secret-{kind}-') and text not in masked
    assert masker().mask(text) == text  # a setting, not the default


def test_a_private_key_is_masked_line_by_line_however_it_is_shown():
    for text in (PEM, PEM.replace("\n", "\n 12\t"), json.dumps(PEM), PEM.replace("\n", "\n+")):
        masks = masker(detect=True)
        masked = masks.mask(text)
        assert not [line for line in PEM_LINES if line in masked], text
        assert masked.count("\n") == text.count("\n") and "BEGIN PRIVATE KEY" in masked
        assert masks.restore(masked) == text
        assert PEM_LINES[1] not in masks.mask(f"17\t{PEM_LINES[1]}")  # a later look at a part of it


def test_behind_a_private_key_the_text_goes_on():
    masks, after = masker(detect=True), "aB3dE5fG7hI9jK1lM3nO5pQ7"
    for stands in (f"{PEM}{after}", f"{PEM}\n{after} {PEM}"):
        assert after in masks.mask(stands)


def test_placeholders_of_another_process_are_known_where_the_key_does_not_last():
    name, text = "lmx-secret-A_TOKEN-0123456789abcdef", "it said lmx-secret-A_TOKEN-0123456789abcdef twice"
    known = [("A", "t0ken-of-a")]
    passing, lasting, idle = Masker(known, KEY, lasting=False), Masker(known, KEY), Masker((), KEY, lasting=False)
    for masks in (passing, lasting, idle):
        masks.remember([text])
    assert lasting.restore(text) == idle.restore(text) == text and passing.named(text) == [name]
    with pytest.raises(Forgotten):
        passing.restore(text)
    assert not lasting.explained


def test_ordinary_texts_are_no_credentials_to_the_detectors():
    for text in (
        "task-list sk-learn",
        "commit 3f9a2c1b44aa01233f9a2c1b44aa01233f9a2c1b",
        "sha512-" + "aB3/" * 22 + "==",
        "risk-averse-people-who-wait-for-long",
        "AKIA is a prefix",
        "-----BEGIN CERTIFICATE-----\n" + PEM_LINES[0],
    ):
        assert masker(detect=True).mask(text) == text


def test_a_private_key_without_an_end_costs_no_more_than_its_bound():
    masks = masker(detect=True)
    text = "-----BEGIN PRIVATE KEY-----\n" + "word\n" * 10_000
    stream = masks.stream()
    said = "".join(stream.feed(text[at : at + 1_000]) for at in range(0, len(text), 1_000))
    assert len(text) - len(said) < 17_000
    assert said + stream.end() == masks.mask(text) == text


def test_json_is_masked_in_its_keys_and_values_and_left_alone_where_nothing_is_secret():
    masks = masker()
    clean = {"a": [1, None, "x", {"b": True}]}
    assert masks.shaped(clean) is clean
    masked = masks.shaped({TOKEN: [TOKEN, 3, {"k": f"<{LONGER}>"}]})
    assert TOKEN not in json.dumps(masked) and masked[masks.mask(TOKEN)][1] == 3


def test_the_bytes_of_an_image_are_not_looked_into():
    image = {"media_type": "image/png", "data": TOKEN, "path": "a.png"}
    masks = masker()
    assert masks.shaped(image) is image
    assert masks.shaped({"data": TOKEN})["data"] == masks.mask(TOKEN)
    assert TOKEN not in str(masks.shaped({"media_type": "image/png", "path": TOKEN}))


def test_without_secrets_nothing_is_touched():
    text = "any text " * 100
    assert NOTHING.mask(text) is text and NOTHING.restore(text) is text and not NOTHING.active
    assert NOTHING.stream().feed(text) == text and NOTHING.shaped({"a": text})["a"] is text
    assert masker().mask(text) is text
