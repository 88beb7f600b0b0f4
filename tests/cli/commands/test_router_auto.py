"""`autoApply`: the name follows every deploy of a target, as a task that a plan shows."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.project import Project
from tests.support.router_project import (
    HISTORY,
    LABELS,
    STATE,
    commands,
    config_of,
    document,
    router_project,
    weights,
)

AUTO = "{hostname: api.example.com, autoApply: true}"
TASK = "dns-sync:shop@dev"
_URLS = {
    "CLOUD1": "https://one.example.net",
    "CLOUD2": "https://two.example.net",
    "HOST3": "https://three.example.net",
}


@pytest.fixture
def made(tmp_path: Path) -> Project:
    made = router_project(tmp_path, AUTO)
    for label in LABELS:
        assert made.json("deploy", "--provider", label).code == 0
    return made


def planned(made: Project, *words: str, env: dict[str, str] | None = None) -> dict[str, Any]:
    tasks = made.json("plan", "--provider", "main", *words, env=env).result["tasks"]
    found = [task for task in tasks if task["kind"] == "dns-sync"]
    return dict(found[0]) if found else {}


def test_the_name_waits_for_all_targets_and_then_follows(tmp_path: Path) -> None:
    made = router_project(tmp_path, AUTO)
    assert planned(made)["action"] == "wait"
    made.json("deploy", "--provider", "main")
    assert planned(made)["reason"] == "targets not deployed: spare, third"
    assert not (made.root / STATE).exists()
    made.json("deploy", "--provider", "spare")
    made.json("deploy", "--provider", "third")
    assert weights(made) == {"main": 34, "spare": 33, "third": 33}
    assert document(made, HISTORY)["entries"][0]["trigger"] == "deploy"


def test_a_plan_shows_it_after_the_release_and_nothing_is_done_twice(made: Project) -> None:
    task = planned(made)
    assert (task["id"], task["action"], task["reason"]) == (TASK, "skip", "up to date")
    assert task["dependsOn"] == ["release:shop@main"]
    assert made.json("deploy", "--provider", "main").result["summary"]["ran"] == 0
    assert made.fabric("plan", "--provider", "main").out.strip() == "No changes."
    assert len(document(made, HISTORY)["entries"]) == 1


def test_a_shift_by_hand_stays_and_a_new_address_is_followed(made: Project) -> None:
    words = ("dns-shift", "--provider", "main", "--percent", "90")
    assert made.json("router", *words).code == 0
    assert planned(made)["action"] == "skip"
    env = {**commands(_URLS), "FABRIC_REAL_DEPLOY": "1"}
    text = config_of("{hostname: api.example.com, autoApply: true, provider: local}")
    made.write({"fabric.yml": text})
    assert made.json("deploy", "--provider", "main", env=env).code == 0
    rows = {row["label"]: row for row in document(made, STATE)["endpoints"]}
    assert rows["main"]["url"] == "https://one.example.net"
    assert rows["main"]["weight"] == 90


def test_changed_router_settings_run_the_sync_task(made: Project) -> None:
    made.write({"fabric.yml": config_of(AUTO.replace("}", ", ttl: 30}"))})
    task = planned(made)
    assert (task["action"], task["reason"]) == ("run", "endpoints or weights changed")
    result = made.json("deploy", "--provider", "main").result
    assert result["deployments"][0]["status"] == "unchanged"
    assert planned(made)["action"] == "skip"


def test_name_of_another_owner_fails_the_sync_beside_the_deploy(made: Project) -> None:
    zone = made.root / ".fabric/router-zone-dev.json"
    zone.write_text(zone.read_text().replace("shop/dev", "else/dev"))
    made.write({"fabric.yml": config_of("{hostname: other.example.com, autoApply: true}")})
    done = made.json("deploy", "--provider", "main")
    assert (done.document["ok"], done.error["code"]) == (False, "router/foreign")
    assert done.code in (1, 2)
    assert "else/dev" in zone.read_text()


def test_without_auto_apply_there_is_no_sync_task(tmp_path: Path) -> None:
    assert planned(router_project(tmp_path)) == {}


@pytest.mark.parametrize(("allowed", "tasks"), [("", 0), (", allowProdSync: true", 1)])
def test_stage_prod_needs_its_switch_in_the_config(
    tmp_path: Path, allowed: str, tasks: int
) -> None:
    made = router_project(tmp_path, AUTO.replace("}", f"{allowed}}}"))
    assert bool(planned(made, "--stage", "prod")) == bool(tasks)


def test_the_run_of_a_sync_is_journalled_and_explained(made: Project) -> None:
    made.write({"fabric.yml": config_of(AUTO.replace("}", ", ttl: 30}"))})
    said = made.json("explain", TASK, "--provider", "main").result
    assert (said["action"], said["reason"]) == ("run", "endpoints or weights changed")
    done = made.fabric("deploy", "--provider", "main", "--events", "events.ndjson")
    assert done.code == 0, done.err
    assert f'"task":"{TASK}"' in (made.root / "events.ndjson").read_text()
