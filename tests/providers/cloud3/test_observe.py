"""What cloud3 keeps of calls: asked of a workspace of its log analytics, as its interface
answers."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.support.in_process import project
from tests.support.project import Done, Project
from tests.support.tool import Tool

_CONFIG = """\
service: shop
provider: {name: cloud3-functions, runtime: python3.11}
functions:
  - {name: hello, entry: one.py}
  - {name: Bye, entry: one.py}
"""


@dataclass
class Workspace:
    """`answers` are tables by a word of the query."""

    answers: dict[str, tuple[list[str], list[list[Any]]]] = field(default_factory=dict)
    status: int = 200
    fault: dict[str, Any] = field(default_factory=dict)
    asked: list[dict[str, Any]] = field(default_factory=list)
    url: str = ""

    def answer(self, path: str, login: str, body: dict[str, Any]) -> tuple[int, Any]:
        self.asked.append(body)
        if path != "/v1/workspaces/w-1/query" or login != "Bearer token-of-cloud3":
            return 401, {"error": {"code": "Unauthorized", "message": "no"}}
        if set(body) != {"query", "timespan"} or "/" not in body["timespan"]:
            return 400, {"error": {"code": "BadArgumentError", "message": "no such member"}}
        if self.status != 200:
            return self.status, {"error": self.fault}
        columns, rows = next(
            (table for word, table in self.answers.items() if word in body["query"]), ([], [])
        )
        named = [{"name": one, "type": "dynamic"} for one in columns]
        return 200, {"tables": [{"name": "PrimaryResult", "columns": named, "rows": rows}]}


@contextmanager
def _served(workspace: Workspace) -> Iterator[None]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = 1 << 16

        def do_POST(self) -> None:  # noqa: N802 - the name that the server looks for
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status, document = workspace.answer(self.path, self.headers["Authorization"], body)
            content = json.dumps(document).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_words: Any) -> None:
            """Nobody reads it."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        workspace.url = f"http://127.0.0.1:{server.server_port}"
        try:
            yield
        finally:
            server.shutdown()
            thread.join()


@dataclass
class LiveShop:
    project: Project
    workspace: Workspace

    def run(self, *words: str) -> Done:
        env = {
            "FABRIC_CLOUD3_REAL_DEPLOY": "1",
            "CLOUD3_ACCESS_TOKEN": "token-of-cloud3",
            "CLOUD3_LOG_ANALYTICS_WORKSPACE_ID": "w-1",
            "CLOUD3_API_BASE_URL": self.workspace.url,
        }
        past = ("--since", "2026-01-01T00:00:00Z", "--until", "2026-01-02T00:00:00Z")
        return self.project.json(*words, *past, env=env)


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[LiveShop]:
    made, tool = project(tmp_path, _CONFIG), Tool(tmp_path / "tool")
    made.write({"one.py": "def handler(event, context):\n    return 1\n"})
    tool.answers({"endpoint": "https://live.example", "functionApp": 'shop "one"'})
    env = {"FABRIC_CLOUD3_REAL_DEPLOY": "1", "FABRIC_CLOUD3_DEPLOY_CMD": tool.line}
    done = made.json("deploy", env=env)
    assert done.code == 0, done.out
    workspace = Workspace()
    with _served(workspace):
        yield LiveShop(made, workspace)


def test_only_lines_of_our_functions_are_returned(shop: LiveShop) -> None:
    columns = ["TimeGenerated", "OperationName", "OperationId", "Message", "SeverityLevel"]
    rows: list[list[Any]] = [
        ["2026-01-01T03:04:06.1234567Z", "bye", "op2", "second", 3],
        ["2026-01-01T03:04:05Z", "hello", "op1", "first", None],
        ["2026-01-01T03:04:05Z", "stranger", "op3", "not ours", 1],
    ]
    shop.workspace.answers["AppTraces"] = (columns, rows)
    lines = shop.run("logs").result["lines"]
    assert [(one["function"], one["text"], one["level"]) for one in lines] == [
        ("hello", "first", ""),
        ("Bye", "second", "error"),
    ]
    assert lines[1]["time"] == "2026-01-01T03:04:06.123Z"


def test_texts_stand_in_queries_as_texts(shop: LiveShop) -> None:
    shop.run("logs", "--filter", 'a "b" \\ c')
    (asked,) = shop.workspace.asked
    assert 'Message contains_cs "a \\"b\\" \\\\ c"' in asked["query"]
    assert 'AppRoleName =~ "shop \\"one\\""' in asked["query"]
    assert asked["timespan"] == "2026-01-01T00:00:00.000Z/2026-01-02T00:00:00.000Z"


def test_calls_are_counted_and_timed(shop: LiveShop) -> None:
    columns = ["OperationName", "Calls", "Errors", "P50", "P95"]
    counts: list[list[Any]] = [["hello", 4, 1, 3.5, "NaN"]]
    shop.workspace.answers["percentile"] = (columns, counts)
    parts = ["OperationName", "TimeGenerated", "Calls"]
    bars: list[list[Any]] = [["hello", "2026-01-01T12:00:00Z", 4]]
    shop.workspace.answers["bin("] = (parts, bars)
    hello, bye = shop.run("metrics").result["functions"][::-1]
    assert (hello["calls"], hello["errors"], hello["p50Ms"], hello["p95Ms"]) == (4, 1, 3.5, None)
    assert (bye["calls"], bye["p50Ms"]) == (0, None)


def test_traces_have_their_steps(shop: LiveShop) -> None:
    columns = ["TimeGenerated", "OperationName", "OperationId", "Id", "ParentId", "Name"]
    columns += ["DurationMs", "Success"]
    at = "2026-01-01T03:04:05Z"
    rows = [
        [at, "hello", "op1", "b", "a", "SQL", 2.0, False],
        [at, "hello", "op1", "a", "op1", "hello", 5.0, True],
        [at, "stranger", "op2", "c", "", "x", 5.0, True],
    ]
    shop.workspace.answers["AppDependencies"] = (columns, rows)
    (trace,) = shop.run("traces").result["traces"]
    assert (trace["id"], trace["ms"], trace["status"]) == ("op1", 5.0, "ok")
    assert {one["name"]: one["parent"] for one in trace["spans"]} == {"SQL": "a", "hello": ""}


@pytest.mark.parametrize(
    ("status", "fault", "code", "words"),
    [
        (
            403,
            {"code": "InsufficientAccessError", "message": "no"},
            "credentials/refused",
            "permission",
        ),
        (404, {"code": "WorkspaceNotFoundError", "message": "no"}, "provider/refused", "WORKSPACE"),
        (
            400,
            {"code": "BadArgumentError", "message": "m", "innererror": {"message": "inner words"}},
            "provider/refused",
            "inner words",
        ),
    ],
)
def test_provider_error_message_is_reported(
    shop: LiveShop, status: int, fault: dict[str, Any], code: str, words: str
) -> None:
    shop.workspace.status, shop.workspace.fault = status, fault
    done = shop.run("logs")
    assert done.error["code"] == code
    assert words in done.error["message"] + done.error["hint"]


def test_a_token_is_in_no_message(shop: LiveShop) -> None:
    shop.workspace.status = 400
    shop.workspace.fault = {"code": "Bad", "message": "bad token-of-cloud3"}
    done = shop.run("logs")
    assert "token-of-cloud3" not in done.out + done.err
