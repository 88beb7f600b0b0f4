"""Runs over partly the same services: never a deadlock, and the loser is told who holds what."""

import signal
from collections.abc import Iterator
from pathlib import Path
from subprocess import Popen

import pytest

from tests.support.in_process import compose
from tests.support.project import SECONDS, Project, ended, handler
from tests.support.tool import Tool
from tests.support.until import until

SERVICES = ("auth", "api", "web", "jobs")


@pytest.fixture
def made(tmp_path: Path) -> Project:
    return compose(tmp_path, **dict.fromkeys(SERVICES, ()))


@pytest.fixture
def holder(made: Project, tmp_path: Path) -> Iterator[tuple[Popen[str], Tool]]:
    """A run over auth and api that is in the middle of it."""
    tool = Tool(tmp_path / "tool")
    tool.waits()
    words = ("compose", "deploy", "--service", "auth", "--service", "api", "--json")
    with made.start(*words, env=tool.env()) as child:
        until(lambda: tool.is_running or child.poll() is not None)
        assert child.poll() is None
        yield child, tool
        tool.answers({"endpoint": "https://live.example"})
        child.wait(SECONDS)


def test_lock_loser_reports_the_holder_and_changes_nothing(
    made: Project, holder: tuple[Popen[str], Tool]
) -> None:
    child, tool = holder
    done = made.json("compose", "deploy", "--junit", "junit.xml", env=tool.env())
    assert (done.code, done.error["code"]) == (75, "lock/held")
    assert str(child.pid) in done.error["message"]
    assert "api" in done.error["message"] or "auth" in done.error["message"]
    result = done.document["result"]
    assert {row["status"] for row in result["deployments"]} == {"blocked"}
    assert len(done.error["problems"]) == 1
    assert (made.root / "junit.xml").read_text().count("<failure") == 1
    for name in ("web", "jobs"):
        assert not (made.root / name / ".fabric/state" / name).exists()
        assert made.json("compose", "deploy", "--service", name).code == 0


def test_waiting_deploy_continues_after_the_other_ends(
    made: Project, holder: tuple[Popen[str], Tool]
) -> None:
    child, tool = holder
    other = Tool(tool.folder.parent / "other", url="https://other.example")
    waiter = made.start("compose", "deploy", "--lock-timeout", "60s", env=other.env())
    tool.answers({"endpoint": "https://live.example"})
    first, second = ended(child), ended(waiter)
    assert (first.code, second.code) == (0, 0), first.err + second.err
    assert {call["FABRIC_SERVICE"] for call in tool.calls} == {"auth", "api"}
    assert {"web", "jobs"} <= {call["FABRIC_SERVICE"] for call in other.calls}


def waiting_for_the_lock(made: Project, tool: Tool) -> Popen[str]:
    words = ("compose", "deploy", "--json", "--force", "--lock-timeout", "60s")
    waiter = made.start(*words, env=tool.env())
    assert waiter.stderr is not None
    for line in waiter.stderr:
        if "lock/waiting" in line:
            return waiter
    raise AssertionError("it waits for no lock")


@pytest.mark.parametrize("signals", [1, 2])
def test_deploy_stopped_while_waiting_for_a_lock_changes_nothing(
    signals: int, made: Project, holder: tuple[Popen[str], Tool]
) -> None:
    child, tool = holder
    other = Tool(tool.folder.parent / "other", url="https://other.example")
    waiter = waiting_for_the_lock(made, other)
    for _ in range(signals):
        waiter.send_signal(signal.SIGINT)
    done = ended(waiter)
    assert (done.code, done.error["code"]) == (130, "run/interrupted")
    rows = done.document["result"]["deployments"]
    assert {row["status"] for row in rows} == {"cancelled"}
    tool.answers({"endpoint": "https://live.example"})
    assert ended(child).code == 0
    assert other.calls == []


def test_waiting_run_evaluates_the_state_again_under_the_lock(
    made: Project, holder: tuple[Popen[str], Tool]
) -> None:
    child, tool = holder
    waiter = made.start("compose", "deploy", "--json", "--lock-timeout", "60s", env=tool.env())
    assert waiter.stderr is not None
    while "lock/waiting" not in waiter.stderr.readline():
        assert waiter.poll() is None
    tool.answers({"endpoint": "https://live.example"})
    first, second = ended(child), ended(waiter)
    assert (first.code, second.code) == (0, 0), first.err + second.err
    called = sorted(call["FABRIC_SERVICE"] for call in tool.calls)
    assert called == sorted(SERVICES), "what the first has done is not done again"


def test_runs_listing_the_same_services_in_different_orders_do_not_deadlock(made: Project) -> None:
    """Each waits long enough for the others, so only a circle of waiters could fail."""
    orders = {
        f"{number}.yml": SERVICES[number:] + SERVICES[:number] for number in range(len(SERVICES))
    }
    for file, names in orders.items():
        rows = "".join(f"  - {{name: {name}, config: ./{name}}}\n" for name in names)
        made.write({file: f"services:\n{rows}"})
    for turn in range(3):
        made.write({f"{name}/main.py": handler(f"{name} {turn}") for name in SERVICES})
        children = [
            made.start("compose", "deploy", "-f", file, "--lock-timeout", "50s", "--json")
            for file in orders
        ]
        for child in children:
            done = ended(child)
            assert done.code == 0, done.out + done.err
    assert made.json("compose", "plan", "--detailed-exitcode").code == 0
