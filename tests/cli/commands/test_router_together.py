"""All targets of a service in one graph: each is made and remembered as if it were alone."""

import shutil
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.support.in_process import project
from tests.support.project import Project
from tests.support.router_project import HISTORY, LABELS, SOURCES, config_of, router_project

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


def test_one_run_deploys_all_targets_and_then_routes_the_name(tmp_path: Path) -> None:
    begun = _begun(router_project(tmp_path).fabric("router", "deploy", "--sync-dns").err)
    assert begun[-1] == "dns-sync:shop@dev"
    assert {f"release:shop@{label}" for label in LABELS} <= set(begun)
    assert begun.count("build:shop/one") == 1


def test_a_run_over_all_targets_takes_the_options_of_a_run(tmp_path: Path) -> None:
    made = _two_runtimes(tmp_path)
    words = ("--events", "run.ndjson", "--profile", "trace.json", "--junit", "run.xml")
    more = ("--out", "copies", "--output-logs", "errors-only", "--no-cache", "--concurrency", "2")
    done = made.json("router", "deploy", "--sync-dns", *words, *more)
    assert done.code == 0, done.out
    first, *rest = (made.root / "run.ndjson").read_text().splitlines()
    assert '"type": "version"' in first or '"type":"version"' in first
    assert any("dns-sync:shop@dev" in line for line in rest)
    assert "dns-sync" in (made.root / "run.xml").read_text()
    assert (made.root / "trace.json").stat().st_size > 0
    copies = {one.relative_to(made.root / "copies").as_posix() for one in _files(made)}
    assert {f"shop@{label}/one.zip" for label in ("main", "spare", "third")} <= copies


def _files(made: Project) -> list[Path]:
    return [one for one in (made.root / "copies").rglob("*") if one.is_file()]


def test_each_target_gets_its_own_build(tmp_path: Path) -> None:
    made = _two_runtimes(tmp_path)
    deployed = _together(made)
    folders = (made.root / f".fabric/build/shop@{label}" for label in LABELS)
    main, spare, third = (ZipFile(folder / "one.zip").namelist() for folder in folders)
    assert main == third == ["src/one.py"]
    assert "src/one.mjs" in spare
    assert _alone(made) == _untouched(deployed)


def test_a_machine_that_never_built_it_sees_that_nothing_is_to_be_done(tmp_path: Path) -> None:
    made = _two_runtimes(tmp_path)
    deployed = _together(made)
    shutil.rmtree(made.root / ".fabric/cache")
    shutil.rmtree(made.root / ".fabric/build")
    assert _alone(made) == _untouched(deployed)
    assert _begun(made.fabric("router", "deploy").err) == []


def test_individually_deployed_targets_stay_unchanged(tmp_path: Path) -> None:
    made = _two_runtimes(tmp_path)
    deployed = _alone(made)
    assert _together(made) == _untouched(deployed)


def test_rollback_restores_all_targets_if_one_fails(tmp_path: Path) -> None:
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


def test_name_changed_by_hand_is_routed_back_even_if_nothing_is_deployed(
    tmp_path: Path,
) -> None:
    made = router_project(tmp_path)
    assert made.json("router", "deploy", "--sync-dns").code == 0
    (made.root / ".fabric/router-zone-dev.json").unlink()
    done = made.json("router", "deploy", "--sync-dns").result
    assert {row["status"] for row in done["deployments"]} == {"unchanged"}
    assert done["sync"]["summary"]["create"] > 0


def test_shared_build_runs_once_for_all_targets(tmp_path: Path) -> None:
    """Commands above all: two at once in one folder would be in each other's way."""
    made = router_project(tmp_path)
    command = 'mkdir dist; cp -r src dist; sleep 0.2; cp -r dist/. "$FABRIC_OUT_DIR"; rm -r dist'
    build = f"build: {{command: [sh, -c, 'set -e; {command}']}}\n"
    made.write({"fabric.yml": config_of() + build, ".fabricignore": "dist\n"})
    done = made.fabric("router", "deploy")
    assert done.code == 0, done.err
    begun = [one for one in _begun(done.err) if one.startswith("build:")]
    assert begun == ["build:shop/one"]


def test_many_targets_evict_no_cached_builds(tmp_path: Path) -> None:
    made = _two_runtimes(tmp_path)
    for number in range(6):
        made.write({"src/one.py": f"def handler(event, context):\n    return {number}\n"})
        assert made.json("router", "deploy").code == 0
    made.write({"src/one.py": "def handler(event, context):\n    return 0\n"})
    begun = _begun(made.fabric("router", "deploy").err)
    assert not [one for one in begun if one.startswith("build:")]
    assert "deploy:shop/one@main" in begun


def test_each_target_reports_its_own_error(tmp_path: Path) -> None:
    rows = router_project(tmp_path).json("router", "deploy", env=_FAILS).document["result"]
    errors = {row["provider"]: row["error"] for row in rows["deployments"]}
    assert (errors["main"], errors["third"]) == (None, None)
    assert "FABRIC_CLOUD2_DEPLOY_CMD" in errors["spare"]
    assert rows["summary"]["failed"] == 1


def test_failed_build_of_one_target_does_not_block_the_others(tmp_path: Path) -> None:
    made = _two_runtimes(tmp_path)
    made.write({"src/one.mjs": "export const handler = (\n"})
    done = made.json("router", "deploy")
    rows = {row["provider"]: row["status"] for row in done.document["result"]["deployments"]}
    assert (done.code, rows["main"], rows["third"]) == (2, "deployed", "deployed")
    assert rows["spare"] != "deployed"


def test_a_plan_of_all_targets_shows_the_name_and_changes_nothing(tmp_path: Path) -> None:
    made = router_project(tmp_path)
    result = made.json("router", "deploy", "--sync-dns", "--dry-run").result
    ids = [one["id"] for one in result["tasks"]]
    assert ids[-1] == "dns-sync:shop@dev"
    assert {f"release:shop@{label}" for label in LABELS} < set(ids)
    assert not (made.root / ".fabric/state").exists()


def test_router_policy_error_is_reported_before_anything_is_deployed(tmp_path: Path) -> None:
    made = router_project(tmp_path, "{hostname: api.example.com, mutationPolicy: none}")
    done = made.json("router", "deploy", "--sync-dns")
    assert done.error["code"] == "router/policy"
    assert not (made.root / ".fabric/state").exists()


@pytest.mark.parametrize("damage", ["junk", "", "{}", "[]"])
def test_a_damaged_history_is_put_aside_and_the_name_follows(tmp_path: Path, damage: str) -> None:
    made = router_project(tmp_path)
    assert made.json("router", "deploy", "--sync-dns").code == 0
    made.write({"src/one.py": "def handler(event, context):\n    return 5\n", HISTORY: damage})
    done = made.json("router", "deploy", "--sync-dns")
    assert (done.code, done.result["sync"] is None) == (0, False)
    assert (made.root / f"{HISTORY}.damaged").read_text() == damage


def test_targets_with_their_own_runtime_can_be_inspected_and_removed(
    tmp_path: Path,
) -> None:
    own = "spare: {name: cloud2-functions, runtime: python3.12}"
    made = project(tmp_path, config_of().replace("spare: {name: cloud2-functions}", own), SOURCES)
    assert made.json("router", "deploy", "--sync-dns").code == 0
    for words in (("router", "status"), ("outputs",), ("remove", "--yes")):
        label = () if words[0] == "router" else ("--provider", "spare")
        assert made.json(*words, *label).code == 0


def test_without_a_target_list_all_overrides_are_routed(tmp_path: Path) -> None:
    text = config_of("{hostname: api.example.com, autoApply: true}")
    listed = "fabric: {targets: [main, spare, third], routing: round-robin}"
    made = project(tmp_path, text.replace(listed, "fabric: {routing: round-robin}"), SOURCES)
    begun = _begun(made.fabric("router", "deploy").err)
    assert begun[-1] == "dns-sync:shop@dev"


def test_router_key_of_another_extension_is_ignored(tmp_path: Path) -> None:
    text = config_of().replace("router: {hostname: api.example.com}", "custom: {router: {x: 1}}")
    made = project(tmp_path, text, SOURCES)
    assert made.json("deploy", "--provider", "main").code == 0


def test_two_targets_at_one_host_warn(tmp_path: Path) -> None:
    text = config_of().replace("spare: {name: cloud2-functions}", "spare: {name: cloud1-lambda}")
    done = project(tmp_path, text, SOURCES).fabric("router", "deploy", "--sync-dns")
    assert done.code == 0
    assert "router/same-host" in done.err
