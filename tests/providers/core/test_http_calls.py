"""Calls to the API of a provider: headers, decoded responses and retries."""

from dataclasses import dataclass, field
from typing import cast

import pytest

from fabric.model.secrets.secret import Secret
from fabric.providers.core.contract import NO_CONTEXT, CallContext
from fabric.providers.core.errors import RefusedCallError
from fabric.providers.core.http_calls import (
    LONGEST_WISH,
    ProviderCall,
    build_json_call,
    decode_reply,
    retry_transient,
    send_with_login,
    send_with_token,
)
from fabric.providers.core.retry import RetryPolicy
from fabric.system.http.http_client import Http, HttpReply, HttpRequest
from fabric.system.retry import TransientError

CALL = ProviderCall("GET", "/v1/things?page=2")


@dataclass
class KeptHttp:
    requests: list[HttpRequest] = field(default_factory=list)

    def send(self, request: HttpRequest) -> HttpReply:
        self.requests.append(request)
        return HttpReply(200, {})


def sent(call: ProviderCall, base: str = "https://api.example") -> HttpRequest:
    http = KeptHttp()
    send_with_token(cast("Http", http), base, Secret("hush"), call)
    return http.requests[0]


@dataclass
class Naps:
    """Pauses that are noted instead of waited for."""

    spent: list[float] = field(default_factory=list)

    @property
    def policy(self) -> RetryPolicy:
        return RetryPolicy(base=1.0, cap=4.0, most=7.0, sleep=self.spent.append, random=lambda: 1.0)


@dataclass
class Act:
    left: int
    after: float = 0.0

    def __call__(self) -> str:
        self.left -= 1
        if self.left >= 0:
            raise TransientError("try again", self.after)
        return "done"


def test_a_title_has_no_query() -> None:
    assert CALL.title == "GET /v1/things"


def test_a_json_call_has_its_document() -> None:
    call = build_json_call("PUT", "/a", {"b": 1})
    assert (call.content, call.content_type) == (b'{"b":1}', "application/json")


def test_a_call_has_the_token_and_its_own_headers() -> None:
    call = ProviderCall("PUT", "/a", b"{}", headers=(("X-Own", "1"),))
    request = sent(call, "https://api.example/")
    assert request.url == "https://api.example/a"
    assert request.headers.reveal() == {
        "Authorization": "Bearer hush",
        "Content-Type": "application/json",
        "X-Own": "1",
    }


def test_a_call_without_content_has_no_type() -> None:
    assert sent(CALL).headers.reveal() == {"Authorization": "Bearer hush"}


def test_another_kind_of_login_is_sent_as_it_is() -> None:
    http = KeptHttp()
    send_with_login(cast("Http", http), "https://api.example", Secret("Basic abc"), CALL)
    assert http.requests[0].headers.reveal() == {"Authorization": "Basic abc"}


def test_a_response_is_decoded() -> None:
    assert decode_reply(CALL, HttpReply(200, {}, b'{"a": 1}'), dict[str, int]) == {"a": 1}


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (200, TransientError),
        (204, TransientError),
        (400, RefusedCallError),
        (404, RefusedCallError),
        (500, TransientError),
        (502, TransientError),
    ],
)
def test_an_unreadable_response_is_a_rejection_only_if_its_status_is_one(
    status: int, kind: type[Exception]
) -> None:
    for content in (b"<html>", b"", b'{"a": "text"}', b"\xff"):
        with pytest.raises(kind):
            decode_reply(CALL, HttpReply(status, {}, content), dict[str, int])


def test_a_failed_call_is_repeated_with_longer_pauses() -> None:
    naps = Naps()
    assert retry_transient(Act(2), "AWS", naps.policy, NO_CONTEXT) == "done"
    assert sum(naps.spent) == pytest.approx(3.0)


def test_the_last_failure_is_raised_once_the_time_is_spent() -> None:
    naps = Naps()
    with pytest.raises(TransientError, match="try again"):
        retry_transient(Act(99), "AWS", naps.policy, NO_CONTEXT)
    assert sum(naps.spent) == pytest.approx(7.0)


def test_a_requested_pause_is_kept_up_to_a_limit_and_reported() -> None:
    naps, heard = Naps(), list[str]()
    retry_transient(Act(1, 30.0), "AWS", naps.policy, CallContext(heard.append))
    assert sum(naps.spent) == pytest.approx(30.0)
    assert heard == ["AWS: rate limit reached, waiting 30 s"]
    naps = Naps()
    retry_transient(Act(1, 1e6), "AWS", naps.policy, NO_CONTEXT)
    assert sum(naps.spent) == pytest.approx(LONGEST_WISH)


def test_a_long_pause_names_its_reason() -> None:
    heard: list[str] = []
    retry_transient(Act(1), "AWS", Naps().policy, CallContext(heard.append))
    assert heard == ["AWS: try again; retrying"]


def test_a_rate_limit_delays_the_first_try_too() -> None:
    naps = Naps()
    retry_transient(Act(0), "AWS", naps.policy, NO_CONTEXT, lambda: 0.5)
    assert sum(naps.spent) == pytest.approx(0.5)


def test_a_rejection_is_not_repeated() -> None:
    def act() -> str:
        raise RefusedCallError(400, "no", "GET /")

    naps = Naps()
    with pytest.raises(RefusedCallError):
        retry_transient(act, "AWS", naps.policy, NO_CONTEXT)
    assert naps.spent == []
