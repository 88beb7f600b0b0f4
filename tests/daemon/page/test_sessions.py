"""Sessions of browsers: known by digests, for half a day, and only so many."""

import itertools

import pytest

from fabric.daemon.http_types import Right
from fabric.daemon.server.sessions import MOST_SESSIONS, SESSION_SECONDS, BrowserSessions


class Times:
    now = 0.0


@pytest.fixture
def times() -> Times:
    return Times()


@pytest.fixture
def sessions(times: Times) -> BrowserSessions:
    numbers = itertools.count()
    return BrowserSessions("fabric-1", lambda _: f"token-{next(numbers)}", lambda: times.now)


def test_a_session_has_the_right_of_its_key_for_twelve_hours(
    sessions: BrowserSessions, times: Times
) -> None:
    look, change = sessions.begin(Right.LOOK), sessions.begin(Right.CHANGE)
    assert sessions.right_of(look) is Right.LOOK
    assert sessions.right_of(change) is Right.CHANGE
    assert sessions.right_of("token-9") is None
    times.now = SESSION_SECONDS - 1
    assert sessions.right_of(look) is Right.LOOK
    times.now = SESSION_SECONDS
    assert sessions.right_of(look) is None


def test_ended_session_is_invalid(sessions: BrowserSessions) -> None:
    token = sessions.begin(Right.CHANGE)
    sessions.end(token)
    sessions.end(token)
    assert sessions.right_of(token) is None


def test_of_too_many_the_oldest_ends_and_old_ones_are_dropped(
    sessions: BrowserSessions, times: Times
) -> None:
    tokens = [sessions.begin(Right.LOOK) for _ in range(MOST_SESSIONS + 3)]
    assert len(sessions) == MOST_SESSIONS
    assert [sessions.right_of(one) for one in tokens[:4]] == [None, None, None, Right.LOOK]
    times.now = SESSION_SECONDS + 1
    sessions.begin(Right.LOOK)
    assert len(sessions) == 1


def test_tokens_are_stored_only_as_digests(sessions: BrowserSessions) -> None:
    token = sessions.begin(Right.CHANGE)
    assert token not in repr(vars(sessions))


@pytest.mark.parametrize(
    ("header", "token"),
    [("fabric-1=abc", "abc"), ("a=1; fabric-1=abc; b=2", "abc"), ("fabric-10=abc", ""),
     ("fabric-1", ""), ("", ""), ("a=fabric-1=abc", ""), ("fabric-1=a=b", "a=b")],
)  # fmt: skip
def test_own_cookie_is_found_among_others(
    sessions: BrowserSessions, header: str, token: str
) -> None:
    assert sessions.token_in(header) == token
