"""All targets of a service in one graph: each is made and remembered as if it were alone."""

import shutil
from pathlib import Path
from zipfile import ZipFile

from tests.support.in_process import project
from tests.support.project import Project
from tests.support.router_project import LABELS, SOURCES, config_of, router_project

_BOTH = {**SOURCES, "src/one.mjs": "export const handler = async () => ({statusCode: 200});\n"}
_OTHER = {"src/one.py": "def handler(event, context):\n    return {'statusCode': 201}\n"}
_FAILS = {"FABRIC_CLOUD2_REAL_DEPLOY": "1", "FABRIC_CLOUD2_DEPLOY_CMD": "false"}


def _two_runtimes(folder: Path) -> Project:
    """One entry that means another file at each target."""
    own, other = "spare: {name: cloud2-functions", "spare: {name: cloud2-functions, runtime: "
    return project(folder, config_of().replace(own, f"{other}nodejs20.x"), _BOTH)


def _begun(text: str) -> list[str]:
    return [line.split()[1] for line in text.splitlines() if line.startswith("> ")]


def _alone(made: Project) -> list[tuple[str, str]]:
    """How each target ends that is deployed by itself, and which deployment is live then."""
    found = (made.json("deploy", "--provider", one).result["deployments"][0] for one in LABELS)
    return [(one["status"], one["deploymentId"]) for one in found]


def _together(made: Project) -> list[tuple[str, str]]:
    rows = made.json("router", "deploy").result["deployments"]
    assert [one["provider"] for one in rows] == list(LABELS)
    return [(one["status"], one["deploymentId"]) for one in rows]


def _untouched(rows: list[tuple[str, str]]) -> list[tuple[str, str]]:
    return [("unchanged", deployment_id) for _, deployment_id in rows]


def test_one_run_makes_all_targets_and_leads_the_name_after_their_releases(tmp_path: Path) -> None:
    begun = _begun(router_project(tmp_path).fabric("router", "deploy", "--sync-dns").err)
    assert begun[-1] == "dns-sync:shop@dev"
    assert {f"release:shop@{label}" for label in LABELS} <= set(begun)
    assert begun.count("build:shop/one@main") == 1


def test_each_target_is_given_what_was_made_for_it(tmp_path: Path) -> None:
    made = _two_runtimes(tmp_path)
    deployed = _together(made)
    folders = (made.root / f".fabric/build/shop@{label}" for label in LABELS)
    names = [ZipFile(folder / "one.zip").namelist() for folder in folders]
    assert ["src/one.py"] == names[0] == names[2]
    assert "src/one.mjs" in names[1]
    assert _alone(made) == _untouched(deployed)


def test_a_machine_that_never_built_it_sees_that_nothing_is_to_be_done(tmp_path: Path) -> None:
    made = _two_runtimes(tmp_path)
    deployed = _together(made)
    shutil.rmtree(made.root / ".fabric/cache")
    shutil.rmtree(made.root / ".fabric/build")
    assert _alone(made) == _untouched(deployed)
    assert _begun(made.fabric("router", "deploy").err) == []


def test_targets_that_were_deployed_alone_are_left_as_they_are(tmp_path: Path) -> None:
    made = _two_runtimes(tmp_path)
    deployed = _alone(made)
    assert _together(made) == _untouched(deployed)


def test_with_a_way_back_no_target_keeps_what_another_could_not_have(tmp_path: Path) -> None:
    made = router_project(tmp_path)
    assert made.json("router", "deploy", "--sync-dns").code == 0
    before = {label: made.json("outputs", "--provider", label).result for label in LABELS}
    made.write(_OTHER)
    done = made.json("router", "deploy", "--rollback-on-failure", env=_FAILS)
    assert done.code != 0
    rows = done.document["result"]["deployments"]
    assert "deployed" not in {row["status"] for row in rows}
    assert {label: made.json("outputs", "--provider", label).result for label in LABELS} == before


def test_a_target_that_cannot_be_planned_stops_all_of_them_before_the_first_change(
    tmp_path: Path,
) -> None:
    text = config_of().replace("third: {name: host3-machines", "third: {name: no-such-provider")
    made = project(tmp_path, text, SOURCES)
    done = made.json("router", "deploy")
    assert done.code == 65
    assert "no-such-provider" in done.error["message"]
    assert not (made.root / ".fabric/state").exists()


def test_a_name_that_was_led_away_by_hand_is_led_back_where_nothing_is_to_be_deployed(
    tmp_path: Path,
) -> None:
    made = router_project(tmp_path)
    assert made.json("router", "deploy", "--sync-dns").code == 0
    (made.root / ".fabric/router-zone-dev.json").unlink()
    done = made.json("router", "deploy", "--sync-dns").result
    assert {row["status"] for row in done["deployments"]} == {"unchanged"}
    assert done["sync"]["summary"]["create"] > 0
