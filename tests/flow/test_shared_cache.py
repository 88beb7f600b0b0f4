"""Machines side by side, machines that are killed, and turbo on the same server."""

import json
import os
import signal
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.bundler_cache import ENVIRONMENT
from tests.support.project import Project, ended, in_child
from tests.support.servers import artifacts
from tests.support.servers.artifacts import turbo_program
from tests.support.servers.faulty_store import faulty_store
from tests.support.servers.fleet import Fleet
from tests.support.shared_caches import CachePlaceOfTests, Makes, on_objstore2, on_turbo
from tests.support.two_machines import another_machine, first_machine

WRITERS = 3


@pytest.fixture
def first(tmp_path: Path) -> Project:
    return replace(first_machine(tmp_path), runs=in_child)


def handler(number: int) -> str:
    return f"def handler(event, context):\n    return {number}\n"


def hits(machine: Project, place: CachePlaceOfTests) -> int:
    found = machine.json("package", env=place.env).result["summary"]["remote"]["hits"]
    assert isinstance(found, int)
    return found


@pytest.mark.parametrize("put", [1, 2, 3, 4, 5])
def test_process_killed_during_upload_leaves_no_invalid_data(
    first: Project, tmp_path: Path, put: int
) -> None:
    """Two packs, a segment and two heads are put: killed at each of them."""
    with faulty_store() as store:
        place = CachePlaceOfTests(f"{store.address}/shared")
        store.held_put = put
        child = first.start("package", env=place.writing)
        assert store.held.wait(60)
        os.kill(child.pid, signal.SIGKILL)
        child.communicate()
        store.held_put = 0
        second = another_machine(first, tmp_path)
        done = second.json("package", env=place.writing)
        assert done.result["summary"]["failed"] == 0
        again = first.json("package", env=place.env)
        assert again.code == 0
        assert second.archives() == first.archives()
        third = another_machine(first, tmp_path / "third")
        assert hits(third, place) == 4


def test_interrupted_upload_still_reports_the_finished_run(first: Project) -> None:
    with faulty_store() as store:
        store.held_put = 1
        place = CachePlaceOfTests(f"{store.address}/shared")
        child = first.start("package", "--json", env=place.writing)
        assert store.held.wait(60)
        child.send_signal(signal.SIGINT)
        done = ended(child)
    assert done.code == 0
    assert done.result["summary"]["ran"] == 4
    assert "the upload was interrupted" in done.err


@pytest.mark.slow
@pytest.mark.parametrize("made", [on_turbo, on_objstore2], ids=["turbo", "objstore2"])
def test_concurrent_writers_do_not_corrupt_each_other(
    fleet: Fleet, first: Project, tmp_path: Path, made: Makes
) -> None:
    place = made(fleet)
    machines = []
    for number in range(WRITERS):
        machine = another_machine(first, tmp_path / f"machine-{number}")
        machine.write({"src/two.py": handler(number)})
        machines.append(machine)
    for _ in range(2):
        children = [one.start("package", "--no-cache", env=place.writing) for one in machines]
        for child in children:
            child.communicate(timeout=120)
            assert child.returncode == 0
    found = []
    for number, machine in enumerate(machines):
        clean = another_machine(machine, tmp_path / f"clean-{number}")
        found.append(hits(clean, place))
        assert clean.archives() == machine.archives()
    if place.keeps_conditions:
        assert found == [4] * WRITERS
    assert max(found) == 4


@pytest.mark.slow
def test_many_runs_become_one_segment_and_stay_known(
    fleet: Fleet, first: Project, tmp_path: Path
) -> None:
    place = on_objstore2(fleet)
    machine = replace(another_machine(first, tmp_path), runs=first_machine(tmp_path / "x").runs)
    for number in range(18):
        machine.write({"src/two.py": handler(number)})
        machine.json("package", env={**place.writing, "FABRIC_NO_SHORTCUTS": "1"})
    for number in (17, 16):
        clean = another_machine(machine, tmp_path / f"clean-{number}")
        clean.write({"src/two.py": handler(number)})
        assert hits(clean, place) == 4
    status = machine.json("cache", "status", env=place.env).result
    assert (status["tasks"], status["segments"] < 17) == (4, True)


@pytest.mark.slow
def test_turbo_uses_the_same_server_beside_us_unharmed(
    fleet: Fleet, first: Project, tmp_path: Path
) -> None:
    place = replace(on_turbo(fleet), team=artifacts.TEAM)
    root = tmp_path / "turbo"
    _turbo_project(root)
    cold = _turbo(root, fleet, tmp_path)
    assert "0 cached" in cold
    first.json("package", env=place.writing)
    clean = root.rename(tmp_path / "turbo-elsewhere")
    subprocess.run(["rm", "-rf", clean / ".turbo", clean / "dist"], check=True)
    again = _turbo(clean, fleet, tmp_path)
    assert "1 cached, 1 total" in again
    assert (clean / "dist" / "made.txt").read_text() == "made\n"
    assert hits(another_machine(first, tmp_path), place) == 4


def _turbo_project(root: Path) -> None:
    root.mkdir()
    package = {
        "name": "made",
        "version": "1.0.0",
        "packageManager": "npm@10.0.0",
        "scripts": {"build": "mkdir -p dist && echo made > dist/made.txt"},
    }
    (root / "package.json").write_text(json.dumps(package))
    lock = {"name": "made", "version": "1.0.0", "lockfileVersion": 3, "packages": {"": package}}
    (root / "package-lock.json").write_text(json.dumps(lock))
    tasks = {"build": {"outputs": ["dist/**"]}}
    (root / "turbo.json").write_text(json.dumps({"tasks": tasks}))


def _turbo(root: Path, fleet: Fleet, home: Path) -> str:
    env = {
        **ENVIRONMENT,
        "HOME": str(home),
        "TURBO_API": fleet.artifacts.address,
        "TURBO_TOKEN": artifacts.TOKEN,
        "TURBO_TEAM": artifacts.TEAM,
        "TURBO_TELEMETRY_DISABLED": "1",
        "DO_NOT_TRACK": "1",
    }
    argv = [str(turbo_program()), "run", "build", "--cache=remote:rw", "--no-daemon", "--ui=stream"]
    done = subprocess.run(argv, cwd=root, env=env, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
