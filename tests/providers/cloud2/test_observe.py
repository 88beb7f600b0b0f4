"""What cloud2 keeps of calls: lines, numbers, traces; and what is missing to ask for them."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from fabric.model.observed import SECOND
from tests.support.cloud2_site import Cloud2Site
from tests.support.in_process import project
from tests.support.provider_shop import ProviderShop
from tests.support.servers.cloud2.client import Cloud2Server
from tests.support.servers.cloud2.telemetry import entry, stamp

pytestmark = [pytest.mark.slow, pytest.mark.timeout(90)]

_CODE = """export const handler = async (event) => {
    console.log("said", process.env.DB_PASSWORD, event.rawPath);
    return { statusCode: event.headers["x-bad"] ? 500 : 200, body: "hi" };
};
"""


@pytest.fixture
def live(site: Cloud2Site, tmp_path: Path) -> ProviderShop:
    made = ProviderShop(site, project(tmp_path / "project", sources={}))
    made.more = "env: {DB_PASSWORD: hunter2-hidden}\n"
    made.functions["hello"] = ["{type: http, path: /hello}"]
    made.project.write({"src/hello.ts": _CODE})
    made.ran("deploy")
    return made


def test_function_logs_are_shown_without_secrets(live: ProviderShop) -> None:
    live.site.asked("GET", "/hello")
    done = live.run("logs")
    assert done.code == 0, done.out
    lines = done.result["lines"]
    assert lines[-1]["text"] == "said [REDACTED] /hello"
    assert len(live.run("logs", "--platform").result["lines"]) > len(lines)


def test_entries_of_every_form_are_lines(live: ProviderShop, cloud2: Cloud2Server) -> None:
    def has(ident: str, **more: Any) -> None:
        made = entry(cloud2.project, "shop-dev-hello", time.time_ns() - 60 * SECOND, ident)
        cloud2.project.entries.append({**made, **more})

    has("a", jsonPayload={"message": "from json"}, severity="ERROR")
    has("b", jsonPayload={"other": 1}, severity="WARNING")
    has("c", textPayload="plain", severity="DEFAULT")
    lines = {one["text"]: one["level"] for one in live.run("logs").result["lines"]}
    assert (lines["from json"], lines["plain"], lines['{"other":1}']) == ("error", "", "warn")


def test_newest_lines_are_returned_from_many_pages(
    live: ProviderShop, cloud2: Cloud2Server
) -> None:
    now = time.time_ns()
    for number in range(2_500):
        made = entry(
            cloud2.project, "shop-dev-hello", now - (5_000 - number) * 1_000_000, str(number)
        )
        cloud2.project.entries.append({**made, "textPayload": f"line {number}"})
    lines = live.run("logs", "--filter", "line", "--limit", "2200").result["lines"]
    assert [one["text"] for one in lines] == [f"line {number}" for number in range(300, 2_500)]
    assert len(live.run("logs", "--filter", "line 249").result["lines"]) == 11


def test_newest_error_lines_are_found_behind_many_others(
    live: ProviderShop, cloud2: Cloud2Server
) -> None:
    now = time.time_ns()
    for number in range(1_500):
        made = entry(
            cloud2.project, "shop-dev-hello", now - (5_000 - number) * 1_000_000, str(number)
        )
        text = "ERROR: the one" if number == 0 else f"line {number}"
        cloud2.project.entries.append({**made, "textPayload": text})
    (line,) = live.run("logs", "--level", "error", "--limit", "1").result["lines"]
    assert line["text"] == "ERROR: the one"


def test_calls_are_counted_and_timed(live: ProviderShop) -> None:
    (before,) = live.run("metrics").result["functions"]
    for headers in ({}, {}, {"x_bad": "1"}):
        live.site.asked("GET", "/hello", **headers)
    (row,) = live.run("metrics").result["functions"]
    assert (row["calls"] - before["calls"], row["errors"]) == (3, 1)
    assert 0 < row["p50Ms"] <= row["p95Ms"]


def test_traces_are_known_by_the_labels_of_their_steps(
    live: ProviderShop, cloud2: Cloud2Server
) -> None:
    now = time.time_ns()
    for number, name in enumerate(["shop-dev-hello", "another", "another"]):
        times = {"startTime": stamp(now - 30 * SECOND), "endTime": stamp(now - 29 * SECOND)}
        labels = {"g.co/r/cloud_run_revision/service_name": name, "/http/status_code": "503"}
        root = {"spanId": "1", "name": "/hello", "labels": labels, **times}
        below = {"spanId": "2", "parentSpanId": "1", "name": "query", **times}
        cloud2.project.traces.append({"traceId": f"t{number}", "spans": [root, below]})
    (trace,) = live.run("traces").result["traces"]
    assert (trace["id"], trace["function"], trace["ms"]) == ("t0", "hello", 1000.0)
    assert [(one["parent"], one["status"]) for one in trace["spans"]] == [
        ("", "error"),
        ("1", "ok"),
    ]


@pytest.mark.parametrize("command", ["logs", "metrics", "traces"])
@pytest.mark.parametrize(
    ("provider", "names"),
    [
        ("cloud2-functions", ("CLOUD2_ACCESS_TOKEN", "CLOUD2_PROJECT")),
        ("cloud3-functions", ("CLOUD3_ACCESS_TOKEN", "CLOUD3_LOG_ANALYTICS_WORKSPACE_ID")),
    ],
)
def test_missing_variables_are_all_named_at_once(
    tmp_path: Path, provider: str, names: tuple[str, ...], command: str
) -> None:
    made = project(tmp_path)
    for _ in range(2):
        done = made.json(command, "--provider", provider)
        assert (done.code, done.error["code"]) == (77, "credentials/missing")
        assert all(name in done.error["message"] for name in names)
        # Neither does a simulated deployment that nobody has called tell anything.
        assert made.json("deploy", "--provider", provider).code == 0


def test_disabled_api_is_reported(live: ProviderShop, cloud2: Cloud2Server) -> None:
    message = "Cloud Logging API has not been used in project"
    cloud2.fault(
        "entries", status=403, word="PERMISSION_DENIED", message=message, reason="SERVICE_DISABLED"
    )
    done = live.run("logs")
    assert (done.code, done.error["code"]) == (1, "provider/refused")
    assert "enable this API" in json.dumps(done.error)
