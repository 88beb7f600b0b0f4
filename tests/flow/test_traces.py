"""Traces as a collector gets them: of requests, of the runs that they begin, of commands."""

import contextlib
import http.client
import json
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.daemons import Workspace, asked, workspace
from tests.support.project import PYTHON_SOURCES, Project, project
from tests.support.servers.collector import CollectedSpan, Collector, collector
from tests.support.servers.process import free_port
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


def test_unsampled_request_is_not_exported_and_malformed_traceparent_is_ignored(
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


def test_refused_request_does_not_join_the_callers_trace(
    place: Workspace, collected: Collector
) -> None:
    given = {"FABRIC_DAEMON_API_KEY": "k" * 32, "OTEL_EXPORTER_OTLP_ENDPOINT": collected.url}
    port = place.start(**given)["port"]
    assert post(port, "/validate", traceparent=f"00-{TRACE}-{SPAN}-01") == 401
    until(lambda: bool(collected.of("POST validate")))
    (span,) = collected.of("POST validate")
    assert (span.parent, span.trace == TRACE) == ("", False)


@pytest.fixture
def made(tmp_path: Path) -> Project:
    return project(tmp_path, sources=PYTHON_SOURCES)


def tasks_of(collected: Collector, run: CollectedSpan) -> dict[str, CollectedSpan]:
    """All other spans of the same trace, below the run."""
    tasks = [one for one in collected.spans if one is not run]
    assert {(one.trace, one.parent) for one in tasks} == {(run.trace, run.id)}
    return {one.name: one for one in tasks}


@pytest.mark.parametrize("way", ["option", "general", "traces", "its-own-address"])
def test_a_command_is_one_trace(made: Project, collected: Collector, way: str) -> None:
    words, env = {
        "option": (("--otlp", collected.url), {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://0.0.0.0:1"}),
        "general": ((), {"OTEL_EXPORTER_OTLP_ENDPOINT": collected.url}),
        "traces": ((), {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": f"{collected.url}/v1/traces"}),
        "its-own-address": (("--otlp", f"{collected.url}/v1/traces"), {}),
    }[way]
    done = made.fabric("build", *words, env=env)
    assert (done.code, "warning" in done.err) == (0, False), done.err
    (run,) = collected.of("build")
    assert tasks_of(collected, run)
    assert (run.service, run.parent) == ("fabric", "")


def test_task_spans_report_run_and_cached_tasks(made: Project, collected: Collector) -> None:
    deploy = ("deploy", "--otlp", collected.url)
    assert made.fabric(*deploy).code == 0
    (run,) = collected.of("deploy")
    assert run.attributes["fabric.stage"] == "dev"
    first = tasks_of(collected, run)
    assert {one.attributes["fabric.cached"] for one in first.values()} == {0}
    (deployed,) = (one for one in first.values() if one.attributes["fabric.kind"] == "release")
    assert deployed.attributes["fabric.provider"] == "cloud1-lambda"
    assert run.attributes["fabric.tasks.ran"] == len(first)
    collected.spans.clear()
    assert made.fabric(*deploy).code == 0
    (run,) = collected.of("deploy")
    again = tasks_of(collected, run)
    assert again.keys() == first.keys()
    assert {one.attributes["fabric.cached"] for one in again.values()} == {1}


def test_a_command_with_nothing_to_do_is_a_trace_too(made: Project, collected: Collector) -> None:
    for _ in range(3):
        assert made.fabric("build").code == 0
    env = {"OTEL_EXPORTER_OTLP_ENDPOINT": collected.url}
    assert made.fabric("build", env=env).code == 0
    (run,) = collected.of("build")
    assert {one.attributes["fabric.status"] for one in tasks_of(collected, run).values()} == {
        "skipped"
    }


def test_failures_are_reported_in_the_trace(made: Project, collected: Collector) -> None:
    made.write({name: "def handler(\n" for name in PYTHON_SOURCES if name.endswith(".py")})
    assert made.fabric("build", "--otlp", collected.url).code == 1
    (run,) = collected.of("build")
    assert run.has_failed
    assert any(one.has_failed for one in tasks_of(collected, run).values())


def test_command_span_is_a_child_of_traceparent(made: Project, collected: Collector) -> None:
    env = {"TRACEPARENT": f"00-{TRACE}-{SPAN}-01"}
    assert made.fabric("build", "--otlp", collected.url, env=env).code == 0
    (run,) = collected.of("build")
    assert (run.trace, run.parent) == (TRACE, SPAN)
    assert tasks_of(collected, run)


def called(made: Project) -> None:
    """A function, once."""
    made.write({"event.json": "{}"})
    done = made.json("invoke", "run", "--function", "two", "--event", "event.json")
    assert done.code == 0, done.out


@pytest.mark.parametrize("command", ["logs", "metrics", "traces"])
def test_observe_commands_export_traces_too(
    made: Project, collected: Collector, command: str
) -> None:
    assert made.fabric("deploy").code == 0
    runs = sorted((made.root / ".fabric" / "runs").iterdir())
    called(made)
    words = ("--otlp", collected.url, "--events", "events.jsonl")
    assert made.json(command, *words).code == 0
    (run,) = collected.of(command)
    (task,) = tasks_of(collected, run).values()
    assert (task.attributes["fabric.kind"], task.name.split(":")[0]) == (command, command)
    lines = (made.root / "events.jsonl").read_text().splitlines()
    events = [json.loads(one)["type"] for one in lines]
    assert (events[0], events[-1]) == ("version", "run_ended")
    assert sorted((made.root / ".fabric" / "runs").iterdir()) == runs


def test_a_follow_is_a_trace_once_it_ends(made: Project, collected: Collector) -> None:
    assert made.fabric("deploy").code == 0
    called(made)
    words = ("--since", "1h", "--platform", "--otlp", collected.url)
    follower = made.start("logs", "--follow", *words)
    assert follower.stdout is not None
    assert "called as" in follower.stdout.readline()
    follower.send_signal(signal.SIGINT)
    follower.communicate(timeout=20)
    assert follower.returncode == 0
    assert len(collected.of("logs")) == 1


def test_unsampled_traceparent_of_a_command_disables_export(
    made: Project, collected: Collector
) -> None:
    env = {"TRACEPARENT": f"00-{TRACE}-{SPAN}-00"}
    assert made.fabric("build", "--otlp", collected.url, env=env).code == 0
    assert not collected.spans
    env = {"TRACEPARENT": f"00-{TRACE}-nonsense-01"}
    assert made.fabric("build", "--otlp", collected.url, env=env).code == 0
    (run,) = collected.of("build")
    assert (run.parent, run.trace == TRACE) == ("", False)


def test_all_tasks_of_a_run_over_many_services_are_one_trace(
    tmp_path: Path, collected: Collector
) -> None:
    functions = "".join(f"  - {{name: f{n}, entry: src/f{n}.py}}\n" for n in range(150))
    head = "provider: {name: cloud1-lambda, runtime: python3.11}\nfunctions:\n"
    made = project(tmp_path, sources={})
    for service in "abcd":
        made.write(
            {
                f"{service}/fabric.yml": f"service: {service}\n{head}{functions}",
                **{f"{service}/src/f{n}.py": "def handler(e, c): return 1\n" for n in range(150)},
            }
        )
    rows = "".join(f"  - {{name: {one}, config: {one}}}\n" for one in "abcd")
    made.write({"fabric.compose.yml": f"services:\n{rows}"})
    for _ in range(2):
        collected.spans.clear()
        done = made.fabric("compose", "package", "--otlp", collected.url)
        assert done.code == 0, done.err
        (run,) = collected.of("compose package")
        assert len(tasks_of(collected, run)) == 1200


@pytest.mark.parametrize("way", ["silent", "refusing", "failing"])
def test_a_collector_that_is_away_is_one_warning_of_a_command(made: Project, way: str) -> None:
    with contextlib.ExitStack() as stack:
        url = f"http://127.0.0.1:{free_port()}"
        if way == "silent":
            silent = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
            url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        if way == "failing":
            url = stack.enter_context(collector(status=503)).url
        done = made.fabric("build", "--otlp", url)
    assert done.code == 0
    assert done.err.count("the trace of this run") == 1, done.err


@pytest.mark.parametrize(
    "url", ["collector:4318", "ftp://collector", "http://me:hunter22@collector", "http://c/?key=1"]
)
def test_invalid_collector_url_is_reported_before_the_run(made: Project, url: str) -> None:
    done = made.json("build", "--otlp", url)
    assert (done.code, done.error["code"]) == (64, "usage/bad-otlp-url")
    assert "hunter22" not in done.out + done.err
    off = made.json("build", "--otlp", "http://127.0.0.1:1", env={"OTEL_SDK_DISABLED": "true"})
    assert (off.code, off.error["code"]) == (64, "usage/no-effect")


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
