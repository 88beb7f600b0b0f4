"""Traces as a collector gets them: of requests, of the runs that they begin, of commands."""

import http.client
import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.daemons import Workspace, asked, workspace
from tests.support.project import PYTHON_SOURCES, project
from tests.support.servers.collector import Collector, collector
from tests.support.until import until

CONFIG = """\
service: shop
provider: {name: cloud1-lambda, runtime: python3.11}
functions:
  - {name: hello, entry: src/hello.py, triggers: [{type: http, path: /hello}]}
"""


@pytest.fixture
def collected() -> Iterator[Collector]:
    with collector() as found:
        yield found


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Workspace]:
    (tmp_path / "src").mkdir()
    (tmp_path / "fabric.yml").write_text(CONFIG)
    (tmp_path / "src" / "hello.py").write_text("def handler(event, context):\n    return 1\n")
    with workspace(tmp_path) as found:
        yield found


def post(port: int, path: str, **headers: str) -> int:
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    client.request("POST", path, CONFIG, headers)
    answer = client.getresponse()
    json.loads(answer.read())
    client.close()
    return answer.status


def test_each_request_is_a_span_with_its_method_and_path(
    place: Workspace, collected: Collector
) -> None:
    port = place.start(OTEL_EXPORTER_OTLP_ENDPOINT=collected.url)["port"]
    asked(port, "/version")
    asked(port, "/nothing?secret=x")
    assert post(port, "/validate") == 200
    until(lambda: len(collected.spans) >= 3)
    found = {one.name: one for one in collected.spans}
    assert found["GET version"].attributes["method"] == "GET"
    assert found["GET version"].attributes["path"] == "/version"
    assert found["POST validate"].attributes["http.response.status_code"] == 200
    assert found["POST validate"].service == "fabricd"
    assert "secret" not in str(collected.spans)
    assert len({one.trace for one in collected.spans}) == len(collected.spans)


def test_tasks_of_a_run_are_below_the_request_that_began_it(
    place: Workspace, collected: Collector
) -> None:
    port = place.start(OTEL_EXPORTER_OTLP_ENDPOINT=collected.url)["port"]
    assert post(port, "/deploy") == 200
    until(lambda: bool(collected.of("POST deploy") and collected.of("deploy")))
    (request,), (run,) = collected.of("POST deploy"), collected.of("deploy")
    assert (run.trace, run.parent) == (request.trace, request.id)
    (task,) = collected.of("build:shop/hello")
    assert (task.trace, task.parent) == (request.trace, run.id)
    assert task.attributes["fabric.status"] == "ran"


TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


def test_a_request_and_its_run_belong_to_the_span_of_the_caller(
    place: Workspace, collected: Collector
) -> None:
    port = place.start(OTEL_EXPORTER_OTLP_ENDPOINT=collected.url)["port"]
    assert post(port, "/deploy", traceparent=f"00-{TRACE}-{SPAN}-01") == 200
    until(lambda: bool(collected.of("POST deploy") and collected.of("deploy")))
    (request,), (run,) = collected.of("POST deploy"), collected.of("deploy")
    assert (request.trace, request.parent) == (TRACE, SPAN)
    assert (run.trace, run.parent) == (TRACE, request.id)
    (task,) = collected.of("build:shop/hello")
    assert (task.trace, task.parent) == (TRACE, run.id)
    assert TRACE not in place.log


def test_what_the_caller_does_not_sample_is_not_sent_and_what_is_malformed_is_ignored(
    place: Workspace, collected: Collector
) -> None:
    port = place.start(OTEL_EXPORTER_OTLP_ENDPOINT=collected.url)["port"]
    assert post(port, "/deploy", traceparent=f"00-{TRACE}-{SPAN}-00") == 200
    assert post(port, "/validate", traceparent=f"00-{TRACE.upper()}-{SPAN}-01") == 200
    until(lambda: bool(collected.of("POST validate")))
    assert place.fabricd("stop").code == 0
    assert {one.name for one in collected.spans} == {"GET healthz", "POST validate"}
    (span,) = collected.of("POST validate")
    assert (span.parent, span.trace == TRACE) == ("", False)


def test_a_caller_who_is_refused_has_no_place_in_anybodys_trace(
    place: Workspace, collected: Collector
) -> None:
    given = {"FABRIC_DAEMON_API_KEY": "k" * 32, "OTEL_EXPORTER_OTLP_ENDPOINT": collected.url}
    port = place.start(**given)["port"]
    assert post(port, "/validate", traceparent=f"00-{TRACE}-{SPAN}-01") == 401
    until(lambda: bool(collected.of("POST validate")))
    (span,) = collected.of("POST validate")
    assert (span.parent, span.trace == TRACE) == ("", False)


def test_a_command_is_one_trace(tmp_path: Path, collected: Collector) -> None:
    made = project(tmp_path, sources=PYTHON_SOURCES)
    env = {"OTEL_EXPORTER_OTLP_ENDPOINT": collected.url}
    assert made.fabric("build", env=env).code == 0
    (run,) = collected.of("build")
    tasks = [one for one in collected.spans if one is not run]
    assert tasks
    assert {one.parent for one in tasks} == {run.id}
    assert {one.trace for one in tasks} == {run.trace}
    assert run.service == "fabric"


def test_a_collector_that_is_away_holds_up_neither_requests_nor_the_end(place: Workspace) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        port = place.start(OTEL_EXPORTER_OTLP_ENDPOINT=url)["port"]
        for _ in range(20):
            assert asked(port, "/healthz")[0] == 200
        assert place.fabricd("stop").code == 0  # it is 1 after ten seconds, and an exporter waits


def test_without_the_variables_nothing_is_sent(place: Workspace, collected: Collector) -> None:
    port = place.start(OTEL_TRACES_ENABLED="", OTEL_EXPORTER_OTLP_HEADERS="x=y")["port"]
    asked(port, "/healthz")
    place.fabricd("stop")
    assert not collected.spans
