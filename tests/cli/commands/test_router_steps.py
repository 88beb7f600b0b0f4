"""`fabric router dns-shift --steps`: up while the endpoint is well, and back by itself."""

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from fabric.model.problems import FabricError
from fabric.router.simulate import parse_steps
from tests.support.in_process import project
from tests.support.project import Done, Project, ended, environment, started
from tests.support.router_project import (
    HISTORY,
    SOURCES,
    STATE,
    ZONE,
    commands,
    config_of,
    deployed_router,
    document,
    weights,
)

LOCAL = "{hostname: api.example.com, provider: local}"
_EVEN = {"main": 34, "spare": 33, "third": 33}
_LOW = {"main": 49, "spare": 3, "third": 48}


def climb(made: Project, *words: str, env: dict[str, str] | None = None) -> Done:
    argv = ("router", "dns-shift", "--provider", "spare", "--every", "0", "--steps", *words)
    return made.json(*argv, env=env)


def low(made: Project, env: dict[str, str] | None = None) -> None:
    """It begins with little."""
    made.json("router", "dns-shift", "--provider", "spare", "--percent", "3", env=env)
    assert weights(made) == _LOW


def test_share_rises_step_by_step(tmp_path: Path) -> None:
    made = deployed_router(tmp_path)
    low(made)
    result = climb(made, "5,25,50,100").result
    assert [one["percent"] for one in result["steps"]] == [5, 25, 50, 98]
    assert result["weights"] == {"main": 1, "spare": 98, "third": 1} == weights(made)
    assert (result["wentBack"], result["dryRun"]) == (False, False)
    assert len(document(made, HISTORY)["entries"]) == 6


def test_share_is_never_lowered_by_a_step(tmp_path: Path) -> None:
    made = deployed_router(tmp_path)
    done = climb(made, "5,25,33,50")
    assert [one["percent"] for one in done.result["steps"]] == [50]
    assert "already has 33 %: skipping 5 %, 25 %, 33 %" in done.err
    done = climb(made, "5,25,50")
    assert (done.code, done.error["code"]) == (64, "usage/bad-steps")
    assert "already has 50 %" in done.error["message"]
    assert weights(made)["spare"] == 50


def test_a_dry_run_of_steps_changes_nothing(tmp_path: Path) -> None:
    made = deployed_router(tmp_path)
    low(made)
    assert [one["percent"] for one in climb(made, "5,50", "--dry-run").result["steps"]] == [5, 50]
    assert weights(made) == _LOW


@pytest.mark.parametrize("steps", ["", "5,", "five", "0,5", "5,101", "50,5", "5,5", "100,5"])
def test_invalid_steps_are_rejected(steps: str) -> None:
    with pytest.raises(FabricError) as caught:
        parse_steps(steps, 2)
    assert caught.value.first.code == "usage/bad-steps"


@pytest.mark.parametrize(
    ("steps", "others", "percents"),
    [("50,99,100", 1, (50, 99)), ("98,100", 2, (98,)), ("100", 2, (98,)), ("1,99", 1, (1, 99))],
)
def test_the_last_step_may_be_reached_by_the_one_before(
    steps: str, others: int, percents: tuple[int, ...]
) -> None:
    assert parse_steps(steps, others) == percents


@pytest.mark.parametrize(
    "words",
    [
        ("--percent", "5", "--steps", "5,10"),
        (),
        ("--steps", "5,5"),
        ("--steps", "5", "--every", "x"),
    ],
)
def test_invalid_option_combination_changes_nothing(tmp_path: Path, words: tuple[str, ...]) -> None:
    made = deployed_router(tmp_path)
    done = made.json("router", "dns-shift", "--provider", "spare", *words)
    assert done.code == 64
    assert weights(made) == _EVEN


class Endpoint(ThreadingHTTPServer):
    """Answers well so many times, and then not. After so many answers something happens `then`."""

    def __init__(self, good: int) -> None:
        super().__init__(("127.0.0.1", 0), _Answers)
        self.good = good
        self.then: dict[int, Callable[[], object]] = {}
        self.asked: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Answers(BaseHTTPRequestHandler):
    server: Endpoint

    def do_GET(self) -> None:  # noqa: N802 - so it is called
        self.server.good -= 1
        self.server.asked.append(self.path)
        self.server.then.get(self.server.good, int)()
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
def test_unhealthy_endpoint_restores_its_previous_share(
    tmp_path: Path, good: int, steps: int
) -> None:
    with endpoint(good) as spare, endpoint(1000) as steady:
        made, env = live(tmp_path, spare, steady)
        low(made, env)
        done = climb(made, "5,25,50,100", env=env)
        assert (done.code, done.error["code"]) == (1, "router/unhealthy")
        assert "503" in done.error["message"]
        result = done.document["result"]
        assert [one["percent"] for one in result["steps"]] == [5, 25, 50][:steps]
        assert result["wentBack"] is (steps > 0)
        assert result["weights"] == _LOW == weights(made)


def test_backend_that_rejects_a_step_is_rolled_back(tmp_path: Path) -> None:
    """It is tried more than once."""
    with endpoint(100) as spare, endpoint(1000) as steady:
        made, env = live(tmp_path, spare, steady)
        low(made, env)
        zone = made.root / ZONE

        def refuse_for_a_while() -> None:
            content = zone.read_bytes()
            zone.write_text("{ half")
            threading.Timer(0.5, zone.write_bytes, (content,)).start()

        spare.then[98] = refuse_for_a_while
        done = climb(made, "5,25,50", env=env)
        assert (done.code, done.error["code"]) == (1, "router/damaged-zone")
        result = done.document["result"]
        assert [one["percent"] for one in result["steps"]] == [5]
        assert (result["wentBack"], result["weights"]) == (True, _LOW)
        assert weights(made) == _LOW
        assert not made.json("router", "dns-reconcile").result["summary"]["driftDetected"]


def test_failed_step_rollback_reports_both_errors_and_the_current_share(tmp_path: Path) -> None:
    with endpoint(100) as spare, endpoint(1000) as steady:
        made, env = live(tmp_path, spare, steady)
        low(made, env)

        def fall_ill() -> None:
            (made.root / ZONE).write_text("{ half")
            spare.good = -1

        spare.then[98] = fall_ill
        done = climb(made, "5,25,50", env=env)
        codes = [one["code"] for one in done.error["problems"]]
        assert codes == ["router/unhealthy", "router/damaged-zone", "router/not-back"]
        assert "`spare` keeps 5 %" in done.error["problems"][-1]["message"]
        assert "--percent 3" in done.error["problems"][-1]["hint"]
        result = done.document["result"]
        assert (result["wentBack"], result["weights"]["spare"]) == (False, 5)


def test_interrupted_shift_reports_the_current_share_and_resumes(
    tmp_path: Path,
) -> None:
    with endpoint(1000) as spare, endpoint(1000) as steady:
        made, env = live(tmp_path, spare, steady)
        low(made, env)
        words = ("router", "dns-shift", "--provider", "spare", "--steps", "5,25", "--json")
        child = started((*words, "--every", "1h"), made.root, environment(made.home, env))
        assert child.stderr
        assert child.stderr.readline() == "spare: 5 %\n"
        child.send_signal(signal.SIGINT)
        done = ended(child)
        assert (done.code, done.error["code"]) == (130, "run/interrupted")
        assert "`spare` keeps 5 % (before the command: 3 %)" in done.error["message"]
        assert [one["percent"] for one in done.document["result"]["steps"]] == [5]
        result = made.json(*words[:-1], "--every", "0", env=env).result
        assert [one["percent"] for one in result["steps"]] == [25]


def test_only_the_path_of_a_health_check_url_is_requested_at_each_endpoint(tmp_path: Path) -> None:
    with endpoint(1000) as spare, endpoint(1000) as steady:
        made, env = live(tmp_path, spare, steady)
        check = "healthCheck: {enabled: true, url: 'https://elsewhere.example/health?deep=1'}"
        made.write({"fabric.yml": config_of(LOCAL).replace("routing: round-robin", check)})
        done = made.fabric("router", "dns-sync", env=env)
        assert done.code == 0
        assert "router/check-address" in done.err
        assert spare.asked == ["/health?deep=1"]


def test_healthy_endpoint_reaches_the_final_step(tmp_path: Path) -> None:
    with endpoint(1000) as spare, endpoint(1000) as steady:
        made, env = live(tmp_path, spare, steady)
        assert climb(made, "50,100", env=env).result["weights"]["spare"] == 98
        rows = made.json("router", "endpoints", env=env).result["endpoints"]
        assert all(row["checked"] and row["healthy"] for row in rows)
        assert all(isinstance(row["latencyMs"], int) for row in rows)


def test_unhealthy_endpoint_is_named_and_recorded_if_health_checks_are_enabled(
    tmp_path: Path,
) -> None:
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
