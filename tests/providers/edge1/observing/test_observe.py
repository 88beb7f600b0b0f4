"""What edge1 keeps of calls: lines, numbers, traces; and lines as they come, by its own tool or by
its interface."""

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest

from fabric.model.observed import SECOND
from fabric.providers.edge1.client import Edge1Api
from fabric.providers.edge1.observing.tails import ApiTail, Tails, ToolTail
from fabric.providers.edge1.provider import read_account
from tests.support import wrangler
from tests.support.bundler_cache import ENVIRONMENT
from tests.support.edge1_site import Edge1Site
from tests.support.in_process import project
from tests.support.provider_shop import ProviderShop
from tests.support.servers.edge1.client import Edge1Server
from tests.support.service_site import asked
from tests.support.until import until

if TYPE_CHECKING:
    from subprocess import Popen

pytestmark = [pytest.mark.slow, pytest.mark.timeout(90)]

_CODE = """export const handler = async (event) => {
    console.log("said", process.env.DB_PASSWORD, event.rawPath);
    if (event.headers["x-bad"]) throw new Error("so it is");
    return { statusCode: 200, body: "hi" };
};
"""


@pytest.fixture
def live(site: Edge1Site, tmp_path: Path) -> ProviderShop:
    made = ProviderShop(site, project(tmp_path / "project", sources={}))
    made.more = "env: {DB_PASSWORD: hunter2-hidden}\n"
    made.functions["hello"] = ["{type: http, path: /hello}"]
    made.project.write({"src/hello.ts": _CODE})
    made.ran("deploy")
    return made


def call(live: ProviderShop, path: str = "/hello", **headers: str) -> int:
    outputs = live.run("outputs").result["services"][0]["outputs"]
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    return asked("GET", outputs["url"] + path, named).status


def met(live: ProviderShop, path: str = "/hello", **headers: str) -> int:
    """Its lines are kept a little later than it is answered."""
    before = len(kept(live))
    status = call(live, path, **headers)
    until(lambda: len(kept(live)) > before)
    return status


def kept(live: ProviderShop) -> list[dict[str, str]]:
    done = live.run("logs", "--platform")
    assert done.code == 0, done.out
    return list(done.result["lines"])


def test_worker_logs_are_shown_without_secrets(live: ProviderShop) -> None:
    assert met(live) == 200
    live.site.reset()
    (line,) = live.run("logs").result["lines"]
    assert (line["text"], line["function"], line["level"]) == (
        "said [REDACTED] /hello",
        "hello",
        "info",
    )
    assert live.site.calls() == 1
    assert kept(live)[-1]["text"].startswith("GET ")


def test_calls_are_counted_and_timed_in_two_questions(live: ProviderShop) -> None:
    for headers in ({}, {}, {"x_bad": "1"}):
        met(live, **headers)
    live.site.reset()
    (row,) = live.run("metrics").result["functions"]
    assert (row["calls"], row["errors"]) == (3, 1)
    assert 0 <= row["p50Ms"] <= row["p95Ms"]
    assert live.site.calls() == 2
    assert "so it is" in live.run("logs", "--level", "error").result["lines"][-1]["text"]


def line(number: int, at: float) -> dict[str, Any]:
    said = {"id": f"e{number}", "service": "shop-dev-hello", "level": "log", "type": "cf-worker"}
    metadata = {**said, "message": f"line {number}"}
    return {"timestamp": round(at * 1000), "$metadata": metadata, "source": {}, "$workers": {}}


def test_newest_lines_are_returned_from_many_pages(live: ProviderShop, edge1: Edge1Server) -> None:
    now = time.time_ns() / SECOND
    edge1.events([line(number, now - 60 + number / 1000) for number in range(5_000)])
    lines = live.run("logs", "--limit", "4500").result["lines"]
    assert [one["text"] for one in lines] == [f"line {number}" for number in range(500, 5_000)]
    assert len(live.run("logs", "--filter", "line 49").result["lines"]) == 111


def test_newest_error_lines_are_found_behind_many_others(
    live: ProviderShop, edge1: Edge1Server
) -> None:
    now = time.time_ns() / SECOND
    rows = [line(number, now - 60 + number / 1000) for number in range(3_000)]
    rows[0]["$metadata"]["level"] = "error"
    edge1.events(rows)
    (found,) = live.run("logs", "--level", "error", "--limit", "1").result["lines"]
    assert found["text"] == "line 0"


def test_identical_lines_with_one_timestamp_are_all_returned(
    live: ProviderShop, edge1: Edge1Server
) -> None:
    at = time.time_ns() / SECOND - 5
    same = [
        {**line(0, at), "$metadata": {**line(0, at)["$metadata"], "id": f"e{n}"}} for n in (1, 2)
    ]
    edge1.events(same)
    assert len(live.run("logs").result["lines"]) == 2


def test_a_trace_has_the_steps_of_all_its_workers(live: ProviderShop, edge1: Edge1Server) -> None:
    begin = time.time_ns() // 1_000_000 - 5_000
    rows = []
    for number, (name, parent) in enumerate([("call", ""), ("query", "s0")]):
        one = line(number, begin / 1000)
        times = {"startTime": begin + number, "endTime": begin + 10, "duration": 10 - number}
        span = {"traceId": "t1", "spanId": f"s{number}", "parentSpanId": parent, "spanName": name}
        rows.append({**one, "$metadata": {**one["$metadata"], **times, **span}})
    edge1.events(rows)
    (trace,) = live.run("traces").result["traces"]
    assert (trace["id"], trace["function"], trace["ms"]) == ("t1", "hello", 10)
    assert [(one["name"], one["parent"]) for one in trace["spans"]] == [
        ("call", ""),
        ("query", "s0"),
    ]


def test_missing_traces_are_explained(live: ProviderShop) -> None:
    done = live.run("traces")
    assert (done.result["traces"], done.code) == ([], 0)
    assert "only for Workers with tracing" in done.err


Follows: TypeAlias = "Callable[..., Popen[str]]"


@pytest.fixture
def follows(live: ProviderShop) -> Iterator[Follows]:
    begun = []

    def follow(**env: str) -> "Popen[str]":
        live.write()
        words = ("logs", "--follow", "--ndjson", "--since", "1h")
        begun.append(live.project.start(*words, env={**live.env, **env}))
        return begun[-1]

    yield follow
    for one in begun:
        one.kill()
        one.communicate()


def text_of(follower: "Popen[str]") -> str:
    assert follower.stdout is not None
    return str(json.loads(follower.stdout.readline())["text"])


def ended(follower: "Popen[str]") -> tuple[str, str, int]:
    follower.send_signal(signal.SIGINT)
    out, err = follower.communicate(timeout=30)
    return out, err, follower.returncode


def test_follow_streams_lines_from_the_api(
    live: ProviderShop, edge1: Edge1Server, follows: Follows
) -> None:
    met(live)
    follower = follows(FABRIC_EDGE1_DISABLE_TAIL_TOOL="1")
    assert text_of(follower) == "said [REDACTED] /hello"
    until(lambda: edge1.tails() == ["shop-dev-hello"])
    for number in range(2):
        call(live, f"/hello?{number}")
        assert text_of(follower) == "said [REDACTED] /hello"
    out, _, code = ended(follower)
    assert (out, code, edge1.tails()) == ("", 0, [])


def test_a_tail_that_breaks_off_is_begun_again_and_nothing_is_lost(
    live: ProviderShop, edge1: Edge1Server, follows: Follows
) -> None:
    follower = follows(FABRIC_EDGE1_DISABLE_TAIL_TOOL="1")
    until(lambda: edge1.tails() == ["shop-dev-hello"])
    edge1.drop_tails()
    call(live)
    assert text_of(follower) == "said [REDACTED] /hello"
    until(lambda: edge1.tails() == ["shop-dev-hello"])
    call(live)
    assert text_of(follower) == "said [REDACTED] /hello"
    out, err, code = ended(follower)
    assert (out, code) == ("", 0)
    assert "retrying" in err


_TOOL = """#!{python}
import json, os, pathlib, sys, time
pathlib.Path({mark!r}).write_text(json.dumps([sys.argv[1:], os.environ["CLOUDFLARE_ACCOUNT_ID"]]))
print("banner of the tool")
said = {{"message": ["by the tool"], "level": "log", "timestamp": int(time.time() * 1000)}}
print(json.dumps({{"logs": [said], "outcome": "ok"}}, indent=2), flush=True)
{rest}
"""


def tool(folder: Path, rest: str) -> Path:
    """A double of edge1's own: it leaves a mark."""
    (folder / "tools").mkdir()
    mark, script = folder / "mark.json", folder / "tools" / "wrangler"
    script.write_text(_TOOL.format(python=sys.executable, mark=str(mark), rest=rest))
    script.chmod(0o755)
    return mark


def path_with(folder: Path) -> str:
    return f"{folder / 'tools'}{os.pathsep}{ENVIRONMENT['PATH']}"


def test_follow_uses_the_installed_tail_tool(
    live: ProviderShop, edge1: Edge1Server, follows: Follows, tmp_path: Path
) -> None:
    mark = tool(tmp_path, "time.sleep(60)")
    follower = follows(PATH=path_with(tmp_path))
    assert text_of(follower) == "by the tool"
    assert json.loads(mark.read_text()) == [
        ["tail", "shop-dev-hello", "--format", "json"],
        edge1.account,
    ]
    assert ended(follower)[2] == 0
    assert edge1.tails() == []


def test_tail_tool_is_not_started_if_disabled(
    live: ProviderShop, edge1: Edge1Server, follows: Follows, tmp_path: Path
) -> None:
    mark = tool(tmp_path, "")
    follower = follows(PATH=path_with(tmp_path), FABRIC_EDGE1_DISABLE_TAIL_TOOL="1")
    until(lambda: edge1.tails() == ["shop-dev-hello"])
    assert ended(follower)[2] == 0
    assert not mark.exists()


def test_follow_falls_back_to_the_api_if_the_tool_exits(
    live: ProviderShop, edge1: Edge1Server, follows: Follows, tmp_path: Path
) -> None:
    tool(tmp_path, 'print("not logged in"); sys.exit(1)')
    follower = follows(PATH=path_with(tmp_path))
    assert text_of(follower) == "by the tool"
    until(lambda: edge1.tails() == ["shop-dev-hello"])
    _, err, code = ended(follower)
    assert "not logged in" in err
    assert code == 0


def test_tail_processes_are_limited_and_the_api_covers_the_rest(
    live: ProviderShop, edge1: Edge1Server, tmp_path: Path
) -> None:
    mark = tool(tmp_path, "time.sleep(60)")
    around = {**edge1.environment, "PATH": path_with(tmp_path)}
    api = Edge1Api(read_account(around, ("EDGE1_API_TOKEN", "EDGE1_ACCOUNT_ID")))
    tails = Tails(api, str(mark.parent / "tools" / "wrangler"), around, most=1)
    begun = [tails.begin("shop-dev-hello") for _ in range(2)]
    try:
        assert [type(one) for one in begun] == [ToolTail, ApiTail]
        assert edge1.tails() == ["shop-dev-hello"]
    finally:
        for one in begun:
            one.close()
        api.close()


def test_real_edge1_tool_streams_lines(
    live: ProviderShop, edge1: Edge1Server, follows: Follows
) -> None:
    folder = wrangler.installed() / "node_modules" / ".bin"
    follower = follows(PATH=f"{folder}{os.pathsep}{ENVIRONMENT['PATH']}")
    until(lambda: edge1.tails() == ["shop-dev-hello"])
    call(live)
    assert text_of(follower) == "said [REDACTED] /hello"
    assert ended(follower)[2] == 0


def test_missing_variables_are_all_named_at_once(tmp_path: Path) -> None:
    made = project(tmp_path)
    done = made.json("logs", "--provider", "edge1-workers")
    assert (done.code, done.error["code"]) == (77, "credentials/missing")
    assert all(one in done.error["message"] for one in ("EDGE1_API_TOKEN", "EDGE1_ACCOUNT_ID"))


def test_a_refused_login_is_77(live: ProviderShop, edge1: Edge1Server) -> None:
    edge1.fault("telemetry", status=403, code=10000, message="Authentication error")
    done = live.run("logs")
    assert (done.code, done.error["code"]) == (77, "credentials/refused")
