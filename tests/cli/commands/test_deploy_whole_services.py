"""All of a service is built before any of it goes live; what `--keep-going` makes of that."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.in_process import compose
from tests.support.project import Project, handler, service

BROKEN = "def handler(event, context:\n"
NAMES = ("one", "three", "two")


def shop(folder: Path) -> Project:
    """Three functions, of which one cannot be built, beside a service of one that is sound."""
    made = compose(folder, shop=(), lone=())
    made.write({"shop/fabric.yml": service("shop", *NAMES), "shop/two.py": BROKEN})
    made.write({f"shop/{name}.py": handler(name) for name in ("one", "three")})
    return made


def ends(result: dict[str, Any], name: str) -> tuple[str, dict[str, str]]:
    row = next(one for one in result["deployments"] if one["service"] == name)
    return row["status"], {one["name"]: one["status"] for one in row["functions"]}


def live(made: Project) -> list[str]:
    rows = made.json("state", "list", cwd="shop").result["records"]
    return [name for row in rows for name in row["functions"]]


def test_a_build_that_fails_leaves_its_service_as_it_was(tmp_path: Path) -> None:
    made = shop(tmp_path)
    done = made.json("compose", "deploy")
    assert done.code == 2
    result = done.document["result"]
    assert ends(result, "lone")[0] == "deployed"
    assert ends(result, "shop") == ("blocked", dict.fromkeys(NAMES, "blocked"))
    row = next(one for one in result["deployments"] if one["service"] == "shop")
    reasons = {one["name"]: one["reason"] for one in row["functions"]}
    assert reasons["two"].startswith("depends on build:shop/two")
    assert "--keep-going" in reasons["one"]
    assert live(made) == []


def test_single_service_deploy_fails_if_nothing_was_deployed(tmp_path: Path) -> None:
    made = shop(tmp_path)
    assert made.json("deploy", cwd="shop").code == 1
    assert live(made) == []


def test_live_deployment_stays_unchanged_after_a_failed_build(tmp_path: Path) -> None:
    made = shop(tmp_path)
    made.write({"shop/two.py": handler("two")})
    before = made.json("deploy", cwd="shop").result["deployments"][0]
    made.write({"shop/two.py": BROKEN, "shop/one.py": handler("newer")})
    after = made.json("deploy", cwd="shop")
    assert after.code == 1
    assert after.document["result"]["deployments"][0]["deploymentId"] == before["deploymentId"]


def test_keep_going_deploys_built_functions_and_reports_a_partial_deploy(tmp_path: Path) -> None:
    made = shop(tmp_path)
    done = made.json("deploy", "--keep-going", cwd="shop")
    assert done.code == 2
    found = {"one": "created", "three": "created", "two": "blocked"}
    (row,) = done.document["result"]["deployments"]
    assert ends(done.document["result"], "shop") == ("partial", found)
    reasons = {one["name"]: one["reason"] for one in row["functions"]}
    assert "build:shop/two" in reasons["two"]
    assert live(made) == ["one", "three"]


def test_fixed_build_completes_a_partial_deploy(tmp_path: Path) -> None:
    made = shop(tmp_path)
    made.json("deploy", "--keep-going", cwd="shop")
    made.write({"shop/two.py": handler("two")})
    done = made.json("deploy", cwd="shop")
    assert done.code == 0
    assert ends(done.result, "shop")[0] == "deployed"
    assert made.json("plan", "--detailed-exitcode", cwd="shop").code == 0


def test_keep_going_overrides_rollback_on_failure(tmp_path: Path) -> None:
    made = shop(tmp_path)
    env = {"FABRIC_ROLLBACK_ON_FAILURE": "1"}
    done = made.json("deploy", "--keep-going", cwd="shop", env=env)
    assert ends(done.document["result"], "shop")[0] == "partial"
    assert live(made) == ["one", "three"]


@pytest.mark.parametrize("other", ["--fail-fast", "--rollback-on-failure"])
def test_wishes_for_opposite_things_are_refused(other: str, tmp_path: Path) -> None:
    done = shop(tmp_path).json("deploy", "--keep-going", other, cwd="shop")
    assert (done.code, done.error["code"]) == (64, "usage/opposites")


def test_plan_compares_each_function_with_its_own_archive(tmp_path: Path) -> None:
    made = shop(tmp_path)
    made.write({"shop/two.py": handler("two")})
    made.json("deploy", cwd="shop")
    made.write({"shop/two.py": handler("newer")})
    rows = made.json("plan", cwd="shop").result["services"][0]["functions"]
    assert {one["name"]: one["change"] for one in rows} == {
        "one": "none",
        "three": "none",
        "two": "update",
    }
