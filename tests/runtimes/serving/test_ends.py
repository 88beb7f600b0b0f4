"""How a container begins and ends: with a handler that loads, after what is under way, or once."""

import concurrent.futures
import json
import time
from pathlib import Path

import pytest

from tests.runtimes.serving.sources import handler
from tests.support.served_function import Served, serving, started

pytestmark = pytest.mark.slow

_LANGUAGES = pytest.mark.parametrize("language", ["nodejs", "python"])
_EVENT = json.dumps({"detail-type": "Scheduled Event", "time": "2026-01-01T00:00:00Z"})


def until_said(served: Served, text: str) -> None:
    deadline = time.monotonic() + 20
    while text not in served.log:
        assert time.monotonic() < deadline, served.log
        time.sleep(0.01)


@_LANGUAGES
def test_requests_in_flight_are_answered_before_shutdown(language: str, tmp_path: Path) -> None:
    with (
        serving(language, tmp_path, handler(language, "slow"), {}) as served,
        concurrent.futures.ThreadPoolExecutor(1) as pool,
    ):
        call = pool.submit(served.ask, "GET", "/")
        until_said(served, "begun")
        assert served.end() == 0
        assert call.result().body == b"done"


@_LANGUAGES
def test_calls_over_the_most_are_sent_away(language: str, tmp_path: Path) -> None:
    with (
        serving(language, tmp_path, handler(language, "slow"), {"most": 1}) as served,
        concurrent.futures.ThreadPoolExecutor(1) as pool,
    ):
        call = pool.submit(served.ask, "GET", "/")
        until_said(served, "begun")
        assert served.ask("GET", "/").status == 429
        assert call.result().status == 200


@_LANGUAGES
def test_a_handler_that_does_not_load_ends_the_container(language: str, tmp_path: Path) -> None:
    served = started(language, tmp_path, handler(language, "broken"), {})
    assert served.child.wait(20) == 1
    assert "it is broken" in served.log


@_LANGUAGES
@pytest.mark.parametrize(("fails", "code"), [("", 0), ("yes", 1)])
def test_a_schedule_calls_it_once(language: str, fails: str, code: int, tmp_path: Path) -> None:
    served = started(
        language, tmp_path, handler(language, "cron"), {}, FABRIC_EVENT=_EVENT, FAILS=fails
    )
    assert served.child.wait(20) == code
    assert "at Scheduled Event 2" in served.log
    assert "2026-01-01T00:00:00Z" not in served.log


@_LANGUAGES
def test_an_application_is_served_as_it_is(language: str, tmp_path: Path) -> None:
    with serving(language, tmp_path, handler(language, "app"), {}) as served:
        reply = served.ask("GET", "/any/path?id=7")
        assert (reply.status, reply.json) == (201, {"path": "/any/path", "id": "7"})
