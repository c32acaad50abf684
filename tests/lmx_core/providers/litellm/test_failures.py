"""What litellm's exceptions become. The facts are those that its 1.110 raised against the scripted server and without one."""

from __future__ import annotations

from typing import Any

import pytest

from lmx_core.providers.failures import Place
from lmx_core.providers.litellm.failures import failure
from lmx_core.providers.litellm.messages import Failed

HOSTED = Place(provider="groq", label="groq", origin="", key_source="GROQ_API_KEY", secrets=("sk-0123456789",))
HERE = Place(provider="hosted_vllm", label="hosted_vllm", origin="http://127.0.0.1:9", local=True)
OPENAI = ("APIStatusError", "APIError", "OpenAIError")


def told(kind: str, message: str = "it failed", **facts: Any) -> Failed:
    return Failed(id=1, kinds=(kind, *OPENAI), message=message, **facts)


@pytest.mark.parametrize(
    ("kind", "status", "category", "transient"),
    (
        ("ContextWindowExceededError", 400, "context_limit", False),
        ("RateLimitError", 429, "rate_limit", True),
        ("Timeout", 408, "timeout", True),
        ("ServiceUnavailableError", 503, "server", True),
        ("BadGatewayError", 502, "server", True),
        ("InternalServerError", 500, "server", True),
        ("APIError", 529, "server", True),
        ("AuthenticationError", 401, "auth", False),
        ("PermissionDeniedError", 403, "auth", False),
        ("APIError", 402, "quota", False),
        ("ContentPolicyViolationError", 400, "refused", False),
        ("RejectedRequestError", 400, "refused", False),
        ("NotFoundError", 404, "other", False),
        ("BadRequestError", 400, "other", False),
    ),
)
def test_ll_8_what_a_server_said_by_class_and_status(kind: str, status: int, category: str, transient: bool) -> None:
    """LL-8: status, headers, code and body are kept."""
    found = failure(HOSTED, told(kind, status=status, answered=True, headers={"retry-after": "7"}), 0)
    assert (found.category, found.is_transient, found.http_status) == (category, transient, status)
    assert found.retry_after_ms == 7_000 and found.provider == "groq"
    assert found.is_account == (category in ("auth", "quota"))


def test_ll_8_the_servers_own_code_tells_an_empty_account_from_a_rate() -> None:
    """LL-8: also where the exception's text holds nothing of it but the sentence."""
    body = '{"error": {"message": "no more credit", "code": "insufficient_quota"}}'
    plain = told(
        "RateLimitError", f"litellm.RateLimitError: RateLimitError: GroqException - {body}", status=429, answered=True
    )
    bytes_ = told(
        "RateLimitError", f"litellm.RateLimitError: X_yException - {body.encode()!r}", status=429, answered=True
    )
    apart = told("RateLimitError", "litellm.RateLimitError: no more credit", status=429, answered=True, body=body)
    for one in (plain, bytes_, apart):
        found = failure(HOSTED, one, 0)
        assert (found.category, found.code, found.is_account) == ("quota", "insufficient_quota", True)
        assert found.message.startswith("groq answered 429: no more credit")


def test_pv_4_prose_is_no_reason_where_the_server_failed() -> None:
    """PV-4: litellm reads an overflow out of any text, whatever the status."""
    said = "litellm.ContextWindowExceededError: prompt is too long"
    found = failure(HOSTED, told("ContextWindowExceededError", said, status=500, answered=True), 0)
    assert (found.category, found.is_transient) == ("server", True)


@pytest.mark.parametrize(
    ("causes", "place", "words", "transient"),
    (
        (
            ("httpx.ConnectError", "builtins.ConnectionRefusedError"),
            HERE,
            "connection refused; is the server running?",
            False,
        ),
        (("httpx.ConnectError", "builtins.ConnectionRefusedError"), HOSTED, "connection refused", True),
        (
            ("aiohttp.ClientConnectorDNSError", "socket.gaierror"),
            HOSTED,
            "name cannot be resolved; are you offline",
            True,
        ),
        (("httpx.ReadError", "builtins.ConnectionResetError"), HOSTED, "reset by peer", True),
        (("httpx.ConnectError", "ssl.SSLCertVerificationError"), HOSTED, "certificate is not trusted", False),
    ),
)
def test_ll_8_a_status_that_nobody_sent_is_the_network(
    causes: tuple[str, ...], place: Place, words: str, transient: bool
) -> None:
    """LL-8: litellm says 500 for it; told as that, a server would be blamed that was never reached."""
    said = "litellm.InternalServerError: GroqException - Cannot connect ssl:<ssl.SSLContext object at 0x7f0>"
    found = failure(place, told("InternalServerError", said, status=500, causes=causes), 0)
    assert (found.code, found.category, found.http_status, found.is_transient) == (
        "connection" if "reset" in words else "unreachable",
        "server",
        None,
        transient,
    )
    assert words in found.message and "SSLContext" not in found.message


def test_ll_8_a_stream_that_broke_is_tried_again() -> None:
    names = "litellm.MidStreamFallbackError: litellm.APIConnectionError: APIConnectionError: GroqException - "
    said = f"{names}Stream ended before a finish"
    found = failure(HOSTED, told("MidStreamFallbackError", said, status=500, begun=True), 0)
    assert (found.code, found.category, found.http_status) == ("incomplete_stream", "server", None)
    assert found.message == "groq broke off its answer: Stream ended before a finish" and found.is_transient
    lost = told("MidStreamFallbackError", said, status=500, begun=True, causes=("aiohttp.ClientPayloadError",))
    assert failure(HOSTED, lost, 0).message == "groq broke off its answer: the stream ended in the middle"
    foreign = Failed(id=1, kinds=("ValueError",), message="invalid literal for int()", begun=True)
    assert failure(HOSTED, foreign, 0).is_transient


@pytest.mark.parametrize(
    ("kind", "message", "facts", "category", "words"),
    (
        (
            "AuthenticationError",
            "litellm.AuthenticationError: BedrockException Invalid Authentication - Unable to locate credentials",
            {"status": 401, "causes": ("botocore.NoCredentialsError",)},
            "auth",
            "cannot be asked: Unable to locate credentials; check GROQ_API_KEY",
        ),
        (
            "APIConnectionError",
            "litellm.APIConnectionError: No module named 'google.auth'\nTraceback (most recent call last):\n  File ...",
            {"status": 500, "causes": ("builtins.ModuleNotFoundError",)},
            "other",
            "cannot be asked: No module named 'google.auth'; this provider may need more packages",
        ),
        (
            "APIError",
            "litellm.APIError: AzureException APIError - Missing credentials. Please pass one of `api_key`",
            {"status": 500, "causes": ("litellm.AzureOpenAIError", "openai.OpenAIError")},
            "other",
            "Missing credentials",
        ),
        (
            "UnsupportedParamsError",
            "litellm.UnsupportedParamsError: groq does not support parameters: ['reasoning_effort'], for model=m. "
            "To drop these, set `litellm.drop_params=True` or for proxy:\n\n`litellm_settings:",
            {"status": 400},
            "other",
            "groq does not support parameters: ['reasoning_effort'], for model=m",
        ),
    ),
)
def test_what_litellm_refuses_by_itself_is_one_sentence_and_final(
    kind: str, message: str, facts: dict[str, Any], category: str, words: str
) -> None:
    found = failure(HOSTED, told(kind, message, **facts), 0)
    assert (found.category, found.is_transient, found.http_status) == (category, False, None)
    assert words in found.message and "\n" not in found.message and "litellm." not in found.message


def test_a_redirect_is_told_as_everywhere() -> None:
    found = failure(HOSTED, told("APIError", status=307, answered=True), 0)
    assert found.http_status == 307 and "redirects are not followed" in found.message and not found.is_transient


def test_no_secret_is_repeated() -> None:
    """Appendix D 9, in the message and in the body."""
    for facts in ({}, {"body": '{"error": "bad key sk-0123456789"}'}):
        found = failure(
            HOSTED, told("AuthenticationError", "bad key sk-0123456789", status=401, answered=True, **facts), 0
        )
        assert "sk-0123456789" not in found.message and "[key]" in found.message
