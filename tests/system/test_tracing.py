"""Spans on their way to a collector: all of them, or one warning."""

import socket

import pytest

from fabric.stage_zero import TOLD_ELSEWHERE
from fabric.system.tracing import (
    ENABLED,
    ENDPOINTS,
    FinishedSpan,
    SpanExport,
    choose_traces_address,
    derive_root_place,
    place_below,
)
from tests.support.servers.collector import collector

_MANY = 10_000


def spans(count: int) -> list[FinishedSpan]:
    run = derive_root_place("run")
    return [
        FinishedSpan(f"task {n}", place_below(run, str(n)), n, n + 1, {"fabric.number": n}, run)
        for n in range(count)
    ]


@pytest.mark.slow
def test_burst_of_spans_is_exported_completely() -> None:
    # What is told here may be of another export of this process, which nobody listened to.
    told: list[str] = []
    with collector() as found:
        export = SpanExport({}, {"service.name": "fabric"}, told.append, found.url, _MANY)
        for one in spans(_MANY):
            export.add(one)
        export.close()
    assert len(found.spans) == _MANY
    assert {one.parent for one in found.spans} == {derive_root_place("run").span}


def test_silent_collector_is_warned_about_once() -> None:
    told: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        export = SpanExport({}, {"service.name": "fabric"}, told.append, url)
        for one in spans(3):
            export.add(one)
        export.close()
        export.close()
    assert len(told) == 1


def test_an_address_is_that_of_the_collector_or_of_its_traces() -> None:
    assert choose_traces_address("") == ""
    for given in ("http://c:4318", "http://c:4318/", "http://c:4318/v1/traces"):
        assert choose_traces_address(given) == "http://c:4318/v1/traces"
    assert choose_traces_address("https://c/otlp/") == "https://c/otlp/v1/traces"


def test_stored_answers_are_disabled_if_tracing_is_configured() -> None:
    assert {*ENDPOINTS, ENABLED} <= {*TOLD_ELSEWHERE}
