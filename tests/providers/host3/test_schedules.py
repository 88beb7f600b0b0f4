"""Schedules on Fly: a machine without services calls the functions of the live version."""

import time

import pytest
from msgspec.structs import replace

from fabric.model.hashing import hash_bytes
from fabric.model.problems import FabricError
from fabric.providers.core.contract import FunctionOrder
from fabric.providers.host3.clock import expand_schedule
from fabric.testing.provider_site import pack_files
from tests.support.host3_site import Host3Site
from tests.support.orders import HTTP, trigger
from tests.support.servers.host3.apps import Machine
from tests.support.servers.host3.operations import process_of

EVERY_MINUTE = trigger("cron", schedule="* * * * *")


@pytest.mark.parametrize(
    ("schedule", "name", "numbers"),
    [
        ("*/20 * * * *", "minutes", [0, 20, 40]),
        ("0 9-11 * * *", "hours", [9, 10, 11]),
        ("0 0 1,15 * *", "days", [1, 15]),
        ("0 0 * JAN-MAR/2 *", "months", [1, 3]),
        ("0 0 * * 7", "weekdays", [0]),
        ("0 0 * * FRI-MON", "weekdays", [0, 1, 5, 6]),
        ("cron(5/20 * ? * 2 *)", "minutes", [5, 25, 45]),
        ("cron(0 0 ? * 2 *)", "weekdays", [1]),
        ("rate(6 hours)", "hours", [0, 6, 12, 18]),
    ],
)
def test_a_field_is_written_as_numbers(schedule: str, name: str, numbers: list[int]) -> None:
    assert expand_schedule(schedule, "")[name] == numbers


def test_of_two_restricted_days_one_is_sufficient() -> None:
    assert expand_schedule("0 0 1 * MON", "")["either"] is True
    for schedule in ("0 0 1 * *", "0 0 * * MON", "0 0 */2 * MON"):
        assert expand_schedule(schedule, "UTC")["either"] is False


def order(site: Host3Site, language: str, said: str, **more: str) -> FunctionOrder:
    if language == "nodejs":
        source = f"export const handler = async (event) => {{ {said} }};"
        return site.order("hello", HTTP, EVERY_MINUTE, source=source, **more)
    text = f"import os\ndef handler(event, context):\n    {said}\n"
    content = pack_files({"index.py": text})
    made = site.order_of("hello", content, HTTP, EVERY_MINUTE, **more)
    artifact = replace(made.artifact, runtime="python3.12", sha256=hash_bytes(content))
    return replace(made, artifact=artifact)


def log_of(site: Host3Site, machine: Machine, word: str) -> str:
    """The output of a machine, once it contains the word."""
    child = process_of(site.host3.app, site.host3.front.children, machine)
    deadline = time.monotonic() + 20
    while word not in child.log and time.monotonic() < deadline:
        assert child.exit_code is None, child.log
        time.sleep(0.02)
    return child.log


_SAYS = {
    "nodejs": 'console.log("called", event["detail-type"], event.resources[0], process.env.MODE);'
    " console.log(Object.keys(process.env).filter((one) => one.startsWith('FABRIC_')).join());",
    "python": "print('called', event['detail-type'], event['resources'][0], os.environ['MODE'])",
}
_FAILS = {"nodejs": "throw new Error('no');", "python": "raise ValueError('no')"}


@pytest.mark.slow
@pytest.mark.timeout(60)
@pytest.mark.parametrize("language", ["nodejs", "python"])
def test_a_function_is_called_at_its_minute(clocked: Host3Site, language: str) -> None:
    clocked.up(
        replace(order(clocked, language, _SAYS[language], MODE="dark"), secret=frozenset(["MODE"]))
    )
    (clock,) = clocked.host3.clocks
    assert "services" not in clock.config
    log = log_of(clocked, clock, "called")
    assert "called Scheduled Event * * * * * dark" in log
    assert "FABRIC_" not in log


@pytest.mark.slow
@pytest.mark.timeout(60)
@pytest.mark.parametrize("language", ["nodejs", "python"])
def test_a_run_that_fails_is_logged_and_the_clock_goes_on(
    clocked: Host3Site, language: str
) -> None:
    clocked.up(order(clocked, language, _FAILS[language]))
    (clock,) = clocked.host3.clocks
    log = log_of(clocked, clock, "hello: the run failed with exit code 1")
    assert "hello: the run failed with exit code 1" in log


@pytest.mark.slow
@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    ("language", "waits"),
    [
        ("nodejs", "await new Promise((done) => setTimeout(done, 60_000));"),
        ("python", "import time; time.sleep(60)"),
    ],
)
def test_a_run_that_is_late_is_ended(clocked: Host3Site, language: str, waits: str) -> None:
    late = replace(order(clocked, language, waits), settings=(("timeout", "1"),))
    clocked.up(late)
    (clock,) = clocked.host3.clocks
    assert "hello: the run was ended after 1 s" in log_of(clocked, clock, "was ended")


@pytest.mark.slow
@pytest.mark.timeout(60)
class TestReleases:
    def test_a_version_without_traffic_has_no_running_clock(self, clocked: Host3Site) -> None:
        clocked.deploy(*clocked.both())
        assert clocked.host3.clocks == []
        clocked.release(["hello", "bye"])
        assert len(clocked.host3.clocks) == 1

    def test_only_the_clock_of_the_new_version_runs(self, clocked: Host3Site) -> None:
        clocked.up(*clocked.both())
        (first,) = clocked.host3.clocks
        then = clocked.live("hello").resource_id
        clocked.up(*clocked.both("two"))
        (second,) = clocked.host3.clocks
        assert first.state == "stopped"
        clocked.up(*(replace(one, version=then) for one in clocked.both()))
        assert clocked.host3.clocks == [first]
        assert second.state == "stopped"

    def test_an_interrupted_switch_ends_with_one_clock(self, clocked: Host3Site) -> None:
        clocked.up(*clocked.both())
        clocked.host3.fault("/start$", status=422, message="not today")
        with pytest.raises(FabricError):
            clocked.up(*clocked.both("two"))
        assert clocked.host3.clocks == []
        clocked.up(*clocked.both("two"))
        (clock,) = clocked.host3.clocks
        assert clock.metadata["fabric_mark"] == clocked.live("hello").resource_id.split("/")[1]

    def test_an_old_clock_that_still_runs_is_stopped(self, clocked: Host3Site) -> None:
        clocked.up(*clocked.both())
        (first,) = clocked.host3.clocks
        clocked.up(*clocked.both("two"))
        clocked.host3.api("POST", f"/machines/{first.id}/start")
        clocked.host3.api("GET", f"/machines/{first.id}")
        assert len(clocked.host3.clocks) == 2
        clocked.release(["hello", "bye"])
        assert first not in clocked.host3.clocks
        assert len(clocked.host3.clocks) == 1

    def test_a_removed_schedule_leaves_no_clock(self, clocked: Host3Site) -> None:
        clocked.up(*clocked.both())
        clocked.up(clocked.order("hello", HTTP))
        assert clocked.host3.clocks == []
        clocked.dissolve()
        assert clocked.left() == {}

    def test_a_clock_that_another_tool_stopped_is_missing_and_started_again(
        self, clocked: Host3Site
    ) -> None:
        clocked.up(*clocked.both())
        (clock,) = clocked.host3.clocks
        clocked.host3.api("POST", f"/machines/{clock.id}/stop", {})
        (missing,) = clocked.deployer.missing(clocked.address(clocked.record), ())
        assert "the running clock of the version" in missing
        clocked.up(*clocked.both(), force=True)
        assert clocked.host3.clocks == [clock]

    def test_a_service_without_schedules_has_no_clock_and_the_same_machines(
        self, clocked: Host3Site
    ) -> None:
        clocked.up(clocked.order("hello", HTTP))
        (machine,) = clocked.host3.app.there
        assert "fabric_role" not in machine.metadata
        assert not any("clock" in one["guest_path"] for one in machine.config["files"])
