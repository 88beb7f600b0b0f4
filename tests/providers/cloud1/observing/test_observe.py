"""What cloud1 keeps of calls, logs of few and of many groups, numbers, traces."""

import datetime
import json
import signal
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from fabric.app.observing.follow import FollowedSource, LineStream
from fabric.app.observing.observe import Observing
from fabric.model.observed import SECOND, LogLine, TimeWindow, convert_to_nanoseconds
from fabric.providers.cloud1.core.client import Cloud1Clients
from fabric.providers.cloud1.observing.observe import Cloud1Observer
from fabric.providers.core.contract import CallContext, DeploymentAddress, LiveFunction
from fabric.providers.core.observing import LogQuestion, ObservedService, Observer
from fabric.providers.core.provider import Connections
from fabric.providers.registry import open_observer
from fabric.system.clock import SystemClock
from fabric.system.cloud1_account import Trying, resolve_cloud1_account
from tests.support.cloud1_site import Cloud1Site
from tests.support.in_process import project
from tests.support.observed_target import observed_target
from tests.support.orders import around, context
from tests.support.provider_shop import ProviderShop
from tests.support.servers.strict_cloud1.client import StrictCloud1

pytestmark = pytest.mark.slow

_NOW = convert_to_nanoseconds(SystemClock().now()) // SECOND * SECOND
_MINUTE = 60 * SECOND
_HOUR = TimeWindow(_NOW - 60 * _MINUTE, _NOW)
_REQUEST = "6f1b2c3d-0000-4000-8000-123456789abc"


@dataclass
class Observed:
    cloud1: StrictCloud1
    folder: Path
    connections: Connections
    names: list[str]

    def observer(self, kind: str) -> Observer:
        env = around(self.folder, self.cloud1.environment)
        return open_observer(context("cloud1-lambda", env, connections=self.connections), kind)

    @property
    def service(self) -> ObservedService:
        address = DeploymentAddress("shop", "dev", "cloud1-lambda", "cloud1-lambda", "us-east-1")
        functions = (LiveFunction(one, self.resource(one), "") for one in self.names)
        return ObservedService(address, tuple(functions))

    def resource(self, name: str) -> str:
        return f"shop-dev-{name}"

    def said(self, name: str, *messages: tuple[int, str]) -> None:
        logs, group = self.cloud1.client("logs"), f"/aws/lambda/{self.resource(name)}"
        logs.create_log_group(logGroupName=group)
        logs.create_log_stream(logGroupName=group, logStreamName="s")
        events = [{"timestamp": at // 1_000_000, "message": text} for at, text in messages]
        for begin in range(0, len(events), 10_000):
            some = events[begin : begin + 10_000]
            logs.put_log_events(logGroupName=group, logStreamName="s", logEvents=some)

    def lines(self, text: str = "", window: TimeWindow = _HOUR) -> list[LogLine]:
        found = self.observer("logs").log_lines(self.service, LogQuestion(window, text))
        return sorted(found, key=lambda one: (one.at, one.function, one.text))


@pytest.fixture
def shop(cloud1: StrictCloud1, tmp_path: Path) -> Iterator[Observed]:
    connections = Connections()
    yield Observed(cloud1, tmp_path, connections, ["hello", "bye"])
    connections.close()


def test_lines_of_each_function_are_found_by_time(shop: Observed) -> None:
    shop.said("hello", (_NOW - 2 * _MINUTE, "one\n"), (_NOW - _MINUTE, "two"))
    shop.said("bye", (_NOW - 120 * _MINUTE, "long ago"), (_NOW - 90 * SECOND, "between"))
    assert [(one.function, one.text) for one in shop.lines()] == [
        ("hello", "one"),
        ("bye", "between"),
        ("hello", "two"),
    ]
    assert len({one.key for one in shop.lines()}) == 3


def test_a_function_that_was_never_called_has_no_lines(shop: Observed) -> None:
    assert shop.lines() == []


def test_runtime_line_prefixes_are_parsed_into_fields(shop: Observed) -> None:
    shop.said(
        "hello",
        (_NOW - 5 * SECOND, f"START RequestId: {_REQUEST} Version: 3\n"),
        (_NOW - 4 * SECOND, f"2026-01-02T03:04:05.678Z\t{_REQUEST}\tWARN\tslow\n"),
        (_NOW - 3 * SECOND, f"[ERROR]\t2026-01-02T03:04:05.678Z\t{_REQUEST}\tno such table\n"),
        (_NOW - 2 * SECOND, json.dumps({"level": "ERROR", "requestId": _REQUEST, "message": "m"})),
        (_NOW - SECOND, f"REPORT RequestId: {_REQUEST}\tDuration: 3.21 ms\n"),
    )
    lines = shop.lines()
    assert [one.is_platform for one in lines] == [True, False, False, False, True]
    assert [one.level for one in lines] == ["", "warn", "error", "error", ""]
    assert {one.request for one in lines} == {_REQUEST}
    assert [one.text for one in lines[1:3]] == ["slow", "no such table"]


def test_more_events_than_a_page_holds_are_all_there(shop: Observed) -> None:
    shop.said("hello", *[(_NOW - (11_000 - n) * 1_000_000, f"line {n}") for n in range(10_500)])
    assert len(shop.lines()) == 10_500


def test_logs_of_fifty_functions_are_read_with_queries(shop: Observed) -> None:
    shop.names = [f"f{number:02}" for number in range(50)]
    for name in shop.names[:40]:
        shop.said(name, (_NOW - 120 * _MINUTE, "long ago"), (_NOW - _MINUTE, f"from {name}"))
    assert sorted(one.text for one in shop.lines()) == [f"from f{n:02}" for n in range(40)]
    assert {one.text.removeprefix("from ") == one.function for one in shop.lines()} == {True}


def test_calls_are_counted_and_timed(shop: Observed) -> None:
    names = {"Dimensions": [{"Name": "FunctionName", "Value": shop.resource("hello")}]}
    at = datetime.datetime.fromtimestamp((_NOW - 10 * _MINUTE) // SECOND, tz=datetime.UTC)
    rows = [("Invocations", 3.0), ("Invocations", 2.0), ("Errors", 1.0)]
    data = [{"MetricName": name, "Timestamp": at, "Value": value, **names} for name, value in rows]
    spans = [{"MetricName": "Duration", "Timestamp": at, "Value": one, **names} for one in (5, 9)]
    shop.cloud1.client("cloudwatch").put_metric_data(
        Namespace="AWS/Lambda", MetricData=[*data, *spans]
    )
    hello, bye = shop.observer("metrics").numbers(shop.service, _HOUR)
    assert (hello.function, hello.calls, hello.errors) == ("hello", 5, 1)
    assert sum(hello.over_time) == 5
    assert (hello.p50_ms, hello.p95_ms) == (5.0, 9.0)
    assert (bye.calls, bye.errors, bye.p50_ms) == (0, 0, None)


def count_calls(shop: Observed, names: list[str], at: int) -> None:
    moment = datetime.datetime.fromtimestamp(at // SECOND, tz=datetime.UTC)
    rows = [
        {
            "MetricName": metric,
            "Timestamp": moment,
            "Value": value,
            "Dimensions": [{"Name": "FunctionName", "Value": shop.resource(name)}],
        }
        for name in names
        for metric, value in (("Invocations", 2.0), ("Errors", 1.0), ("Duration", 7.0))
    ]
    client = shop.cloud1.client("cloudwatch")
    for begin in range(0, len(rows), 500):
        client.put_metric_data(Namespace="AWS/Lambda", MetricData=rows[begin : begin + 500])


def test_numbers_of_two_hundred_functions_are_one_call(shop: Observed) -> None:
    shop.names = [f"f{number:03}" for number in range(200)]
    count_calls(shop, shop.names[:150], _NOW - 10 * _MINUTE)
    found = list(shop.observer("metrics").numbers(shop.service, _HOUR))
    assert shop.cloud1.calls()["cloudwatch.GetMetricData"] == 1
    assert [one.function for one in found] == shop.names
    assert {(one.calls, one.errors, one.p50_ms, one.p95_ms) for one in found[:150]} == {
        (2, 1, 7.0, 7.0)
    }
    assert {sum(one.over_time) for one in found[:150]} == {2}
    assert {(one.calls, one.errors, one.p50_ms) for one in found[150:]} == {(0, 0, None)}


def test_metrics_missing_from_search_are_requested_by_name(shop: Observed) -> None:
    shop.names = [f"f{number:03}" for number in range(200)]
    long_ago = _NOW - 20 * 24 * 60 * _MINUTE
    count_calls(shop, shop.names[:2], long_ago)
    window = TimeWindow(long_ago - 60 * _MINUTE, _NOW)
    found = list(shop.observer("metrics").numbers(shop.service, window))
    assert [one.calls for one in found[:3]] == [2, 2, 0]
    assert shop.cloud1.calls()["cloudwatch.GetMetricData"] == 2


def segment(name: str, **more: Any) -> str:
    at = (_NOW - _MINUTE) / SECOND
    document = {"id": uuid.uuid4().hex[:16], "name": name, "start_time": at, "end_time": at + 0.25}
    trace = f"1-{_NOW // SECOND - 60:08x}-{uuid.uuid4().hex[:24]}"
    return json.dumps({**document, "trace_id": trace, **more})


def test_traces_are_found_with_their_subsegments(shop: Observed) -> None:
    query = {"id": "b" * 16, "name": "query", "start_time": 1.0, "end_time": 1.1, "error": True}
    own = segment(shop.resource("hello"), subsegments=[query], fault=True)
    shop.cloud1.client("xray").put_trace_segments(TraceSegmentDocuments=[own, segment("another")])
    (trace,) = shop.observer("traces").traces(shop.service, _HOUR)
    assert (trace.function, round(trace.ms), trace.status) == ("hello", 250, "error")
    root, below = trace.steps
    assert (below.name, below.parent, below.status) == ("query", root.id, "error")


@pytest.fixture
def live(site: Cloud1Site, tmp_path: Path) -> ProviderShop:
    made = ProviderShop(site, project(tmp_path / "project", sources={}))
    made.more = "env: {DB_PASSWORD: hunter2-hidden}\n"
    made.functions["hello"] = []
    text = "console.log('said', process.env.DB_PASSWORD); if (event.fails) throw Error('no');"
    code = f"export const handler = async (event) => {{ {text} return 1; }};\n"
    made.project.write({"src/hello.ts": code})
    made.ran("deploy")
    return made


def test_function_logs_are_shown_without_secrets(live: ProviderShop) -> None:
    assert live.run("invoke", "run", "--function", "hello").code == 0
    live.project.write({"event.json": '{"fails": true}'})
    assert live.run("invoke", "run", "--function", "hello", "--event", "event.json").code == 1
    live.site.reset()
    lines = live.run("logs").result["lines"]
    assert lines[0]["text"] == "said [REDACTED]"
    assert lines[-1]["level"] == "error"
    assert live.site.changes() == 0
    (row,) = live.run("metrics").result["functions"]
    assert (row["calls"], row["errors"]) == (2, 1)
    done = live.run("traces")
    assert (done.result["traces"], done.code) == ([], 0)
    assert "active tracing" in done.err


def test_new_lines_are_followed_until_ctrl_c(live: ProviderShop) -> None:
    words = ("logs", "--follow", "--ndjson", "--since", "1h")
    follower = live.project.start(*words, env=live.env)
    assert follower.stdout is not None
    for _ in range(2):
        assert live.run("invoke", "run", "--function", "hello").code == 0
        assert json.loads(follower.stdout.readline())["text"] == "said [REDACTED]"
    follower.send_signal(signal.SIGINT)
    rest, _ = follower.communicate(timeout=20)
    assert (rest, follower.returncode) == ("", 0)


def test_follow_survives_an_outage_without_losing_lines(
    shop: Observed, cloud1: StrictCloud1
) -> None:
    account = resolve_cloud1_account(cloud1.environment, ("AWS_ENDPOINT_URL",))
    clients = Cloud1Clients(account, Trying("standard", 2))
    # A follower asks for new lines only, and the module can be imported long before.
    now = convert_to_nanoseconds(SystemClock().now())
    shop.said("hello", (now - _MINUTE, "before"))
    lines, notes = list[LogLine](), list[str]()

    def hear(found: list[LogLine]) -> bool:
        lines.extend(found)
        if [one.text for one in lines] == ["before"]:
            cloud1.fault("logs.FilterLogEvents", times=4, status=503, code="ServiceUnavailable")
            now = convert_to_nanoseconds(SystemClock().now())
            shop.said("bye", (now - SECOND, "during"))
        return len(lines) < 2

    stream = LineStream(SystemClock(), hear)
    watch = CallContext(notes.append, lambda: not stream.is_read)
    target = observed_target(shop.service)
    observer = Cloud1Observer(lambda _: clients, target.hide)
    asked = Observing("logs", TimeWindow(now - 60 * _MINUTE, now))
    FollowedSource(target, observer, asked, stream, watch, lambda _: None).follow()
    clients.close()
    assert [one.text for one in lines] == ["before", "during"]
    assert notes[0].endswith("retrying")
    assert notes[1:] == ["connection restored"]


def test_a_refused_login_is_77_and_named(live: ProviderShop, cloud1: StrictCloud1) -> None:
    cloud1.fault("*", login="denied")
    done = live.run("logs")
    assert (done.code, done.error["code"]) == (77, "credentials/refused")
    assert "FilterLogEvents" in done.error["message"]
