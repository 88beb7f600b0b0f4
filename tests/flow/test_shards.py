"""A CI run in parts: machines that each make one, and one that takes all of it."""

from pathlib import Path

import pytest

from tests.support.git import under_git
from tests.support.project import Project, compose, handler, service
from tests.support.servers.fleet import Fleet
from tests.support.shared_caches import on_objstore2
from tests.support.two_machines import another_machine

_NAMES = ("api", "web", "jobs")
_PARTS = 3


@pytest.fixture
def first(tmp_path: Path) -> Project:
    """Services of several functions each, with everything committed."""
    made = compose(tmp_path / "first", api=(), web=("api",), jobs=())
    for name in _NAMES:
        functions = tuple(f"f{number}" for number in range(4))
        made.write({f"{name}/fabric.yml": service(name, *functions)})
        made.write({f"{name}/{one}.py": handler(f"{name} {one}") for one in functions})
    under_git(made)
    return made


@pytest.mark.parametrize("verb", ["build", "package"])
def test_results_of_sharded_machines_are_reused_by_an_unsharded_run(
    first: Project, fleet: Fleet, tmp_path: Path, verb: str
) -> None:
    place = on_objstore2(fleet)
    machines = [another_machine(first, tmp_path / str(n)) for n in range(_PARTS)]
    running = [
        one.start("compose", verb, "--shard", f"{n}/{_PARTS}", "--json", env=place.writing)
        for n, one in enumerate(machines, start=1)
    ]
    ended = [child.communicate(timeout=120) for child in running]
    assert [child.returncode for child in running] == [0] * _PARTS, ended
    assert [one for one in ended if "warning" in one[1]] == []
    last = another_machine(first, tmp_path / "last")
    done = last.json("compose", verb, env=place.env)
    assert done.result["summary"]["ran"] == 0
    assert len(done.result["artifacts"]) == 12
    if verb == "package":
        deployed = last.json("compose", "deploy", env=place.env)
        ran = {one["status"] for row in deployed.result["deployments"] for one in row["functions"]}
        assert (deployed.code, ran) == (0, {"created"})


def test_shards_share_results_but_are_not_a_complete_run(first: Project) -> None:
    done = first.fabric("compose", "build", "--shard", "2/3")
    assert "shard 1 of 3: 4 functions\nshard 2 of 3: 4 functions  (this run)\n" in done.out
    share = first.json("compose", "build", "--shard", "2/3").result["summary"]["shard"]
    assert (share["number"], share["count"], sum(share["results"])) == (2, 3, 12)
    assert share["expectedMs"] == []
    whole = first.json("compose", "build").result["summary"]
    assert whole["ran"] + whole["cached"] == 12
    assert whole["cached"] >= 4
    assert "shard" not in whole
    again = first.json("compose", "build", "--shard", "1/3").result["summary"]
    assert (again["ran"], sum(again["shard"]["results"])) == (0, 12)
    assert len(again["shard"]["expectedMs"]) == 3


def test_invalid_shard_is_a_usage_error(first: Project) -> None:
    done = first.json("compose", "package", "--shard", "4/3")
    assert (done.code, done.error["code"]) == (64, "usage/bad-shard")
