"""What pods have said; what a cluster keeps nothing of."""

import json
import signal
from pathlib import Path

import pytest

from fabric.providers.cluster.observe import parse_log_lines
from tests.support.cluster_site import ClusterSite
from tests.support.in_process import project
from tests.support.provider_shop import ProviderShop
from tests.support.servers.cluster.door import Fault, ToolAnswer

pytestmark = [pytest.mark.slow, pytest.mark.timeout(90)]

_CODE = """export const handler = async (event) => {
    console.log("said", process.env.DB_PASSWORD, event.rawPath);
    console.error("[ERROR] so it is");
    return { statusCode: 200, body: "hi" };
};
"""


@pytest.fixture
def live(site: ClusterSite, tmp_path: Path) -> ProviderShop:
    made = ProviderShop(site, project(tmp_path / "project", sources={}))
    made.more = "env: {DB_PASSWORD: hunter2-hidden}\n"
    for name in ("hello", "bye"):
        made.functions[name] = [f"{{type: http, path: /{name}}}"]
        made.project.write({f"src/{name}.ts": _CODE})
    made.ran("deploy")
    return made


def test_function_logs_are_shown_without_secrets(live: ProviderShop) -> None:
    assert (live.said("hello"), live.said("bye")) == ("hi", "hi")
    done = live.run("logs")
    assert done.code == 0, done.out
    rows = [(one["function"], one["text"], one["level"]) for one in done.result["lines"]]
    for name in ("hello", "bye"):
        assert (name, f"said [REDACTED] /{name}", "") in rows
        assert (name, "[ERROR] so it is", "error") in rows
    own = live.run("logs", "--function", "bye").result["lines"]
    assert {one["function"] for one in own} == {"bye"}


@pytest.mark.parametrize("kind", ["metrics", "traces"])
def test_unavailable_data_is_reported_with_an_alternative(live: ProviderShop, kind: str) -> None:
    done = live.run(kind)
    assert (done.code, done.error["code"]) == (1, "observe/none")
    assert f"FABRIC_CLUSTER_{kind.upper()}_CMD" in done.error["hint"]


def test_pod_deleted_during_a_query_hides_no_others(live: ProviderShop, site: ClusterSite) -> None:
    assert live.said("hello") == "hi"
    gone = ToolAnswer(1, err='Error from server (NotFound): pods "x" not found\n')
    site.cluster.door.faults.append(Fault("logs", gone))
    done = live.run("logs")
    assert done.code == 0
    assert len({one["function"] for one in done.result["lines"]}) <= 1


_STAMP = "2026-01-02T03:04:05.000000001Z"


@pytest.mark.parametrize("letter", ["\r", "\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u2029"])
def test_only_a_line_feed_ends_a_line(letter: str) -> None:
    said = f"progress 10%{letter}done: ERROR important"
    assert [text for _, text in parse_log_lines(f"{_STAMP} {said}\n{_STAMP} next\n")] == [
        said,
        "next",
    ]


def test_a_piece_without_a_time_is_the_rest_of_the_line_before() -> None:
    text = f"{_STAMP} first\nthe rest\n\n{_STAMP} second\r\n"
    assert [one for _, one in parse_log_lines(text)] == ["first\nthe rest\n", "second"]


def test_pods_that_come_later_are_followed_too(live: ProviderShop) -> None:
    assert live.said("hello") == "hi"
    words = ("logs", "--follow", "--ndjson", "--since", "1h", "--function", "hello")
    follower = live.project.start(*words, env=live.env)
    try:
        assert follower.stdout is not None
        assert json.loads(follower.stdout.readline())["text"] == "said [REDACTED] /hello"
        live.project.write({"src/hello.ts": _CODE.replace("said", "said anew")})
        live.ran("deploy")
        assert live.said("hello") == "hi"
        lines = iter(follower.stdout.readline, "")
        assert any("said anew" in json.loads(one)["text"] for one in lines)
        follower.send_signal(signal.SIGINT)
        _, said = follower.communicate(timeout=20)
        assert (follower.returncode, said) == (0, "")
    finally:
        follower.kill()
        follower.communicate()
