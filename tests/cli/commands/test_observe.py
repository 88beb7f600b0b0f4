"""`fabric logs`, `metrics` and `traces`: of calls on this machine, and of a provider's by a
command."""

import json
import signal
from pathlib import Path

import pytest

from fabric.state.call_log import call_log_path
from tests.support.in_process import compose, project
from tests.support.project import PYTHON, PYTHON_SOURCES, Done, Project
from tests.support.tool import Tool

CONFIG = """\
service: shop
provider: {name: cloud1-lambda, runtime: python3.11}
env: {DB_PASSWORD: "hunter2-hidden"}
functions:
  - {name: hello, entry: one.py}
  - {name: bad, entry: one.py}
"""
HANDLER = """\
import os
def handler(event, context):
    print("hello", event.get("n"), os.environ["DB_PASSWORD"])
    print("ERROR: so it is")
    if event.get("fails"):
        raise ValueError("no such thing")
    return {"n": event.get("n")}
"""
PAST = ("--since", "2020-01-01", "--until", "2030-01-01")


@pytest.fixture
def shop(tmp_path: Path) -> Project:
    made = project(tmp_path, CONFIG, {"one.py": HANDLER})
    assert made.json("deploy").code == 0
    return made


def called(shop: Project, function: str = "hello", event: str = '{"n": 1}') -> Done:
    shop.write({"event.json": event})
    return shop.json("invoke", "run", "--function", function, "--event", "event.json")


def texts(done: Done) -> list[str]:
    assert done.code == 0, done.out + done.err
    return [one["text"] for one in done.result["lines"]]


def test_function_output_is_logged_with_secrets_redacted(shop: Project) -> None:
    called(shop)
    done = shop.json("logs")
    assert texts(done) == ["hello 1 [REDACTED]", "ERROR: so it is"]
    row = done.result["lines"][1]
    assert (row["service"], row["function"], row["provider"]) == ("shop", "hello", "cloud1-lambda")
    assert (row["level"], bool(row["request"])) == ("error", True)
    (log,) = shop.root.glob(".fabric/logs/dev/*")
    assert "hunter2" not in log.read_text()


def test_local_calls_are_there_as_well(shop: Project) -> None:
    shop.write({"event.json": '{"n": 2}'})
    assert shop.json("invoke", "local", "--function", "hello", "--event", "event.json").code == 0
    assert texts(shop.json("logs"))[0] == "hello 2 [REDACTED]"


def test_a_call_that_fails_is_an_error_in_all_three(shop: Project) -> None:
    assert called(shop, "bad", '{"fails": true}').code == 1
    assert "no such thing" in texts(shop.json("logs"))[-1]
    rows = {one["function"]: one for one in shop.json("metrics").result["functions"]}
    assert (rows["bad"]["calls"], rows["bad"]["errors"]) == (1, 1)
    assert (rows["hello"]["calls"], rows["hello"]["p50Ms"]) == (0, None)
    (trace,) = shop.json("traces").result["traces"]
    assert (trace["function"], trace["status"], len(trace["spans"])) == ("bad", "error", 1)


def test_the_same_is_answered_under_invoke(shop: Project) -> None:
    called(shop)
    for command in ("logs", "metrics", "traces"):
        above, below = shop.json(command, *PAST), shop.json("invoke", command, *PAST)
        assert above.code == 0
        assert json.loads(above.out) == json.loads(below.out)


def test_lines_are_chosen_by_function_text_level_and_number(shop: Project) -> None:
    called(shop)
    called(shop, "bad")
    assert len(texts(shop.json("logs"))) == 4
    assert len(texts(shop.json("logs", "--function", "bad"))) == 2
    assert texts(shop.json("logs", "--filter", "hello", "--function", "hello")) == [
        "hello 1 [REDACTED]"
    ]
    assert set(texts(shop.json("logs", "--level", "error"))) == {"ERROR: so it is"}
    assert texts(shop.json("logs", "--limit", "1")) == ["ERROR: so it is"]
    assert texts(shop.json("logs", "--since", "2h", "--until", "1h")) == []


def test_platform_lines_are_omitted_unless_requested(shop: Project) -> None:
    called(shop)
    said = texts(shop.json("logs", "--platform"))
    assert said[0].startswith("called as ")
    assert said[-1].startswith("ended after ")


def test_text_output_names_the_function_of_each_line(shop: Project) -> None:
    called(shop)
    done = shop.fabric("logs")
    first, second = done.out.splitlines()
    assert "shop/hello" in first
    assert first.endswith("hello 1 [REDACTED]")
    assert second.endswith("ERROR: so it is")
    assert shop.fabric("logs", "--since", "1s", "--filter", "nothing").out.startswith(
        "No log lines"
    )


def test_ndjson_is_one_object_a_line(shop: Project) -> None:
    called(shop)
    rows = [json.loads(line) for line in shop.fabric("logs", "--ndjson").out.splitlines()]
    assert rows == shop.json("logs").result["lines"]


def test_one_trace_is_drawn_by_the_beginning_of_its_id(shop: Project) -> None:
    called(shop)
    (trace,) = shop.json("traces").result["traces"]
    done = shop.fabric("traces", trace["id"][:6])
    assert "└─ hello" in done.out
    missed = shop.json("traces", "ffff-none")
    assert (missed.code, missed.error["code"]) == (1, "observe/no-trace")


@pytest.mark.parametrize(
    ("words", "code", "rc"),
    [
        (("--follow",), "usage/conflict", 64),
        (("--since", "0001-01-01T00:00:00+14:00"), "usage/bad-time", 64),
        (("--since", "tomorrow"), "usage/bad-time", 64),
        (("--since", "1h", "--until", "2h"), "usage/bad-time", 64),
        (("--function", "helo"), "usage/unknown-function", 64),
        (("--file", "other.yml"), "usage/no-effect", 64),
        (("--provider", "host1"), "observe/not-deployed", 1),
    ],
)
def test_invalid_options_are_reported(
    shop: Project, words: tuple[str, ...], code: str, rc: int
) -> None:
    done = shop.json("logs", *words)
    assert (done.error["code"], done.code) == (code, rc)


def test_follow_rejects_limit(shop: Project) -> None:
    done = shop.fabric("logs", "--follow", "--limit", "3")
    assert done.code == 64
    assert "--limit has no effect" in done.err


def test_a_follow_as_one_document_names_the_way_that_works(shop: Project) -> None:
    assert "--ndjson" in shop.json("logs", "--follow").error["hint"]


def test_damaged_log_line_is_reported_and_hides_no_others(shop: Project) -> None:
    called(shop)
    log = call_log_path(shop.root / ".fabric", "dev", "shop")
    log.write_bytes(b"\xff damaged\n" + log.read_bytes())
    done = shop.json("logs")
    assert len(texts(done)) == 2
    assert "skipped 1 line without a call" in done.err


@pytest.mark.parametrize("text", ["\x9b31m", "\x7f", "\u202e", "\\", "\U000e0001"])
def test_ndjson_is_valid_json_without_terminal_escapes(shop: Project, text: str) -> None:
    shop.write({"event.json": json.dumps({"n": text})})
    assert shop.json("invoke", "run", "--function", "hello", "--event", "event.json").code == 0
    first = shop.fabric("logs", "--ndjson").out.splitlines()[0]
    assert json.loads(first)["text"] == f"hello {text} [REDACTED]"
    assert first.isprintable()


def test_calls_of_a_function_that_is_not_deployed_yet_are_there(shop: Project) -> None:
    shop.write({"fabric.yml": CONFIG + "  - {name: fresh, entry: one.py}\n", "event.json": "{}"})
    done = shop.json("invoke", "local", "--function", "fresh", "--event", "event.json")
    assert done.code == 0, done.out
    assert len(texts(shop.json("logs", "--function", "fresh"))) == 2
    assert "fresh" in {one["function"] for one in shop.json("metrics").result["functions"]}


@pytest.mark.parametrize("ms", [-5, 10**15])
def test_impossible_call_record_counts_as_damaged(shop: Project, ms: int) -> None:
    called(shop)
    log = call_log_path(shop.root / ".fabric", "dev", "shop")
    row = json.loads(log.read_text())
    log.write_text(log.read_text() + json.dumps({**row, "ms": ms}) + "\n")
    done = shop.json("metrics")
    assert done.result["functions"][0]["calls"] + done.result["functions"][1]["calls"] == 1
    assert "skipped 1 line without a call" in done.err


def test_log_path_that_is_not_a_file_is_reported(shop: Project) -> None:
    call_log_path(shop.root / ".fabric", "dev", "shop").mkdir(parents=True)
    done = shop.json("logs")
    assert (done.code, done.error["code"]) == (1, "observe/unreadable-log")


def test_calls_of_one_provider_are_not_shown_for_another(shop: Project) -> None:
    called(shop)
    done = shop.json("logs", "--provider", "host1")
    assert (done.error["code"], done.code) == ("observe/not-deployed", 1)


def test_missing_service_does_not_hide_lines_of_others(tmp_path: Path) -> None:
    made = compose(tmp_path, api=(), site=("api",))
    made.write({"event.json": "{}"})
    words = ("--function", "main", "--event", "../event.json")
    assert made.json("invoke", "local", *words, cwd="api").code == 0
    done = made.json("traces", "--all-services")
    assert (done.code, done.error["code"]) == (2, "observe/not-deployed")
    assert [one["service"] for one in done.document["result"]["traces"]] == ["api"]


def test_all_services_of_a_compose_file_are_one_stream(tmp_path: Path) -> None:
    made = compose(tmp_path, api=(), site=("api",))
    assert made.json("compose", "deploy").code == 0
    for service in ("api", "site"):
        made.write({"event.json": "{}"})
        done = made.json(
            "invoke", "run", "--function", "main", "--event", "../event.json", cwd=service
        )
        assert done.code == 0, done.out
    rows = made.json("traces", "--all-services").result["traces"]
    assert [one["service"] for one in rows] == ["api", "site"]
    (only,) = made.json("traces", cwd="site").result["traces"]
    assert only["service"] == "site"


@pytest.fixture
def tool(tmp_path: Path) -> Tool:
    return Tool(tmp_path / "tool")


@pytest.fixture
def live(shop: Project, tool: Tool) -> Project:
    """Deployed by a command."""
    shop.write({"fabric.yml": CONFIG.replace("shop", "live")})
    assert shop.json("deploy", env=tool.env()).code == 0
    return shop


def observed(live: Project, tool: Tool, answer: object, *words: str) -> Done:
    tool.answers(answer if isinstance(answer, str) else json.dumps(answer))
    kind = words[0].upper()
    return live.json(*words, *PAST, env={f"FABRIC_CLOUD1_{kind}_CMD": tool.line})


def test_a_command_gives_lines_in_our_own_shape(live: Project, tool: Tool) -> None:
    lines = [
        {"time": "2026-01-02T03:04:06Z", "function": "hello", "text": "second", "level": "WARNING"},
        {"time": "2026-01-02T03:04:05Z", "function": "hello", "text": "hunter2-hidden"},
        {"time": "2026-01-02T03:04:05Z", "function": "hello", "text": "hunter2-hidden"},
    ]
    done = observed(live, tool, {"lines": lines}, "logs")
    assert texts(done) == ["[REDACTED]", "[REDACTED]", "second"]
    assert done.result["lines"][2]["level"] == "warn"


def test_a_command_gives_numbers_and_traces(live: Project, tool: Tool) -> None:
    numbers = {"functions": [{"function": "hello", "calls": 3, "errors": 1, "p50Ms": 12.5}]}
    (row,) = observed(live, tool, numbers, "metrics").result["functions"]
    assert (row["service"], row["calls"], row["p50Ms"], row["p95Ms"]) == ("live", 3, 12.5, None)
    at = "2026-01-02T03:04:05Z"
    spans = [
        {"id": "a", "name": "call", "startedAt": at, "ms": 5},
        {"id": "b", "parent": "a", "name": "query", "startedAt": at, "ms": 3},
    ]
    trace = {"id": "t1", "function": "hello", "startedAt": at, "ms": 5, "spans": spans}
    (found,) = observed(live, tool, {"traces": [trace]}, "traces").result["traces"]
    assert [one["parent"] for one in found["spans"]] == ["", "a"]


def test_command_lines_outside_the_time_range_are_omitted(live: Project, tool: Tool) -> None:
    at = "2019-12-31T23:59:59Z"
    tool.answers(json.dumps({"lines": [{"time": at, "function": "hello", "text": "old"}]}))
    assert texts(live.json("logs", *PAST, env={"FABRIC_CLOUD1_LOGS_CMD": tool.line})) == []
    trace = {"id": "t1", "function": "hello", "startedAt": at, "ms": 5}
    assert observed(live, tool, {"traces": [trace]}, "traces").result["traces"] == []


def test_command_lines_of_other_functions_are_omitted(live: Project, tool: Tool) -> None:
    at = "2026-01-02T03:04:05Z"
    lines = [{"time": at, "function": one, "text": one} for one in ("hello", "bad", "ghost")]
    tool.answers(json.dumps({"lines": lines}))
    env = {"FABRIC_CLOUD1_LOGS_CMD": tool.line}
    done = live.json("logs", "--function", "hello", *PAST, env=env)
    assert texts(done) == ["hello"]
    assert "bad, ghost" in done.err


def test_a_long_line_with_orders_to_a_terminal_is_shown_harmless(live: Project, tool: Tool) -> None:
    text = "\x1b[2J\x07\u202e" + "x" * 262_144 + "\x00"
    row = {"time": "2026-01-02T03:04:05Z", "function": "hello", "text": text}
    tool.answers(json.dumps({"lines": [row]}))
    done = live.fabric("logs", *PAST, env={"FABRIC_CLOUD1_LOGS_CMD": tool.line})
    assert done.code == 0
    assert "x" * 262_144 in done.out
    assert not {"\x1b", "\x07", "\x00", "\u202e"} & set(done.out)
    assert texts(live.json("logs", *PAST, env={"FABRIC_CLOUD1_LOGS_CMD": tool.line})) == [text]


@pytest.mark.parametrize("answer", ["", "[]", '{"lines": [{"text": 1}]}', "\udcff"[:0] + "{"])
def test_invalid_command_output_is_reported(live: Project, tool: Tool, answer: str) -> None:
    done = observed(live, tool, answer, "logs")
    assert (done.error["code"], done.code) == ("observe/command-output", 1)
    assert "FABRIC_CLOUD1_LOGS_CMD" in done.error["message"]


def test_long_call_is_followed_although_shorter_calls_end_first(shop: Project) -> None:
    """Its lines are as old as its beginning when they are noted."""
    log = call_log_path(shop.root / ".fabric", "dev", "shop")
    called(shop)
    row = json.loads(log.read_text())
    long_ago = {**row, "at": row["at"] - 300_000_000_000, "ms": 300_000, "request": "f" * 16}
    words = ("logs", "--follow", "--ndjson", "--since", "1h")
    follower = shop.start(*words)
    try:
        assert follower.stdout is not None
        assert json.loads(follower.stdout.readline())["text"] == "hello 1 [REDACTED]"
        assert json.loads(follower.stdout.readline())["text"] == "ERROR: so it is"
        with log.open("a") as file:
            file.write(json.dumps({**long_ago, "lines": ["long"]}) + "\n")
        assert json.loads(follower.stdout.readline())["text"] == "long"
    finally:
        follower.kill()
        follower.communicate()


def test_unfollowable_service_is_reported_at_once_and_ctrl_c_exits_with_2(
    tmp_path: Path,
) -> None:
    made = compose(tmp_path, api=(), site=("api",))
    made.write({"event.json": "{}"})
    words = ("--function", "main", "--event", "../event.json")
    assert made.json("invoke", "local", *words, cwd="api").code == 0
    follower = made.start("logs", "--follow", "--all-services", "--since", "1h", "--platform")
    try:
        assert follower.stderr is not None
        assert follower.stdout is not None
        told = follower.stderr.readline()
        assert "cannot follow site at cloud1-lambda" in told
        assert "run: fabric deploy" in told
        assert "api/main" in follower.stdout.readline()
        follower.send_signal(signal.SIGINT)
        _, said = follower.communicate(timeout=20)
        assert (follower.returncode, "site" in said) == (2, True)
    finally:
        follower.kill()
        follower.communicate()


def test_ctrl_c_ends_a_follow_with_exit_code_0(shop: Project) -> None:
    called(shop)
    follower = shop.start("logs", "--follow", "--ndjson", "--since", "1h")
    assert follower.stdout is not None
    follower.stdout.readline()
    follower.send_signal(signal.SIGINT)
    follower.communicate(timeout=20)
    assert follower.returncode == 0


def test_closed_reader_ends_a_follow_without_errors(shop: Project) -> None:
    called(shop)
    follower = shop.start("logs", "--follow", "--ndjson", "--since", "1h")
    assert follower.stdout is not None
    assert follower.stderr is not None
    follower.stdout.readline()
    follower.stdout.close()
    called(shop)
    assert follower.wait(30) == 0
    assert follower.stderr.read() == ""
    follower.stderr.close()


def test_service_deployed_at_another_target_is_found_despite_the_default_one(
    tmp_path: Path,
) -> None:
    places = "providerOverrides: {spare: {name: host3-machines}}\n"
    made = project(tmp_path, PYTHON + places, PYTHON_SOURCES)
    assert made.json("deploy", "--provider", "spare").code == 0
    done = made.json("metrics")
    assert (done.code, {row["provider"] for row in done.result["functions"]}) == (0, {"spare"})
