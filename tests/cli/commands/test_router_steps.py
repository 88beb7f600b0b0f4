"""`fabric router dns-shift --steps`: up while the endpoint is well, and back by itself."""

import contextlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from fabric.model.problems import FabricError
from fabric.router.steps import steps_of
from tests.support.in_process import project
from tests.support.project import Done, Project
from tests.support.router_project import (
    HISTORY,
    SOURCES,
    STATE,
    commands,
    config_of,
    deployed_router,
    document,
    weights,
)

LOCAL = "{hostname: api.example.com, provider: local}"
_EVEN = {"main": 34, "spare": 33, "third": 33}


def climb(made: Project, *words: str, env: dict[str, str] | None = None) -> Done:
    argv = ("router", "dns-shift", "--provider", "spare", "--every", "0", "--steps", *words)
    return made.json(*argv, env=env)


def test_a_share_goes_up_step_by_step(tmp_path: Path) -> None:
    made = deployed_router(tmp_path)
    result = climb(made, "5,25,50,100").result
    assert [one["percent"] for one in result["steps"]] == [5, 25, 50, 98]
    assert result["weights"] == {"main": 1, "spare": 98, "third": 1} == weights(made)
    assert (result["wentBack"], result["dryRun"]) == (False, False)
    assert len(document(made, HISTORY)["entries"]) == 5


def test_a_dry_run_of_steps_changes_nothing(tmp_path: Path) -> None:
    made = deployed_router(tmp_path)
    assert [one["percent"] for one in climb(made, "5,50", "--dry-run").result["steps"]] == [5, 50]
    assert weights(made) == _EVEN


@pytest.mark.parametrize("steps", ["", "5,", "five", "0,5", "5,101", "50,5", "5,5", "98,100"])
def test_steps_that_are_none_are_refused(steps: str) -> None:
    with pytest.raises(FabricError) as caught:
        steps_of(steps, 2)
    assert caught.value.first.code == "usage/bad-steps"


@pytest.mark.parametrize(
    "words",
    [
        ("--percent", "5", "--steps", "5,10"),
        (),
        ("--steps", "5,5"),
        ("--steps", "5", "--every", "x"),
    ],
)
def test_what_cannot_be_meant_changes_nothing(tmp_path: Path, words: tuple[str, ...]) -> None:
    made = deployed_router(tmp_path)
    done = made.json("router", "dns-shift", "--provider", "spare", *words)
    assert done.code == 64
    assert weights(made) == _EVEN


class Endpoint(ThreadingHTTPServer):
    """Answers well so many times, and then not."""

    def __init__(self, good: int) -> None:
        super().__init__(("127.0.0.1", 0), _Answers)
        self.good = good

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Answers(BaseHTTPRequestHandler):
    server: Endpoint

    def do_GET(self) -> None:  # noqa: N802 - so it is called
        self.server.good -= 1
        self.send_response(200 if self.server.good >= 0 else 503)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Nobody reads it."""


@contextlib.contextmanager
def endpoint(good: int) -> Iterator[Endpoint]:
    with Endpoint(good) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def live(folder: Path, spare: Endpoint, steady: Endpoint) -> tuple[Project, dict[str, str]]:
    """Only the endpoint that goes up is asked: the others would count too."""
    made = project(folder, config_of(LOCAL), SOURCES)
    addresses = {"CLOUD1": steady.url, "CLOUD2": spare.url, "HOST3": steady.url}
    env = {**commands(addresses), "FABRIC_REAL_DEPLOY": "1"}
    assert made.json("router", "deploy", "--sync-dns", env=env).code == 0
    return made, env


@pytest.mark.parametrize(("good", "steps"), [(0, 0), (1, 1), (2, 2)])
def test_an_endpoint_that_falls_ill_goes_back_to_what_it_had(
    tmp_path: Path, good: int, steps: int
) -> None:
    with endpoint(good) as spare, endpoint(1000) as steady:
        made, env = live(tmp_path, spare, steady)
        done = climb(made, "5,25,50,100", env=env)
        assert (done.code, done.error["code"]) == (1, "router/unhealthy")
        assert "503" in done.error["message"]
        result = done.document["result"]
        assert [one["percent"] for one in result["steps"]] == [5, 25, 50][:steps]
        assert result["wentBack"] is (steps > 0)
        assert result["weights"] == _EVEN == weights(made)


def test_an_endpoint_that_stays_well_goes_all_the_way(tmp_path: Path) -> None:
    with endpoint(1000) as spare, endpoint(1000) as steady:
        made, env = live(tmp_path, spare, steady)
        assert climb(made, "50,100", env=env).result["weights"]["spare"] == 98
        rows = made.json("router", "endpoints", env=env).result["endpoints"]
        assert all(row["checked"] and row["healthy"] for row in rows)
        assert all(isinstance(row["latencyMs"], int) for row in rows)


def test_who_is_not_well_is_named_and_written_down_where_the_config_asks(tmp_path: Path) -> None:
    with endpoint(0) as spare, endpoint(1000) as steady:
        made, env = live(tmp_path, spare, steady)
        text = config_of(LOCAL).replace("routing: round-robin", "healthCheck: {enabled: true}")
        made.write({"fabric.yml": text})
        done = made.fabric("router", "dns-sync", env=env)
        assert done.code == 0
        assert "router/unhealthy-endpoint" in done.err
        rows = document(made, STATE)["endpoints"]
        assert {row["label"]: row["healthy"] for row in rows} == {
            "main": True, "spare": False, "third": True,
        }  # fmt: skip
