"""`fabric state`: what is recorded, kept in a file and put back, and put right by hand."""

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from fabric.model.records.record_json import compute_checksum
from tests.support.in_process import compose, project
from tests.support.project import Project, handler, service

STATE = ".fabric/state/shop/dev/cloud1-lambda.state.json"
ERRORED = ".fabric/errored/shop/dev/cloud1-lambda.state.json"
LOCK = ".fabric/state/.locks/shop/dev/cloud1-lambda.json"
DEPLOY_RECORD = ".fabric/deploy/cloud1-lambda/deployment.json"
READERS = ("list", "show", "pull", "backup", "reconcile", "migrate --from local --to sql")


@pytest.fixture
def made(tmp_path: Path) -> Project:
    """Deployed once to stage dev."""
    made = project(tmp_path, service("shop", "one", "two"), {})
    made.write({"one.py": handler("one"), "two.py": handler("two")})
    assert made.fabric("deploy").code == 0
    return made


def document(made: Project, path: str = STATE) -> dict[str, Any]:
    found = json.loads((made.root / path).read_text())
    assert isinstance(found, dict)
    return found


def rewritten(made: Project, path: str = STATE, target: str = "", **changes: Any) -> None:
    """A record as somebody else would have written it: its checksum fits."""
    changed = {**document(made, path), **changes}
    changed["checksum"] = compute_checksum(changed)
    made.write({target or path: json.dumps(changed)})


def live(record: dict[str, Any]) -> dict[str, Any]:
    """A record without the numbers that only grow."""
    return {k: v for k, v in record.items() if k not in ("serial", "fence", "checksum")}


def codes(made: Project, *words: str) -> tuple[int, str]:
    done = made.json("state", *words)
    return done.code, done.error["code"]


# Looking.


def test_list_prints_deployed_records(made: Project) -> None:
    assert made.fabric("deploy", "--stage", "prod").code == 0
    result = made.json("state", "list").result
    assert (result["service"], result["backend"]) == ("shop", "local")
    assert [row["stage"] for row in result["records"]] == ["dev", "prod"]
    stored = document(made)
    row = result["records"][0]
    for name in ("provider", "mode", "lifecycle", "deploymentId", "serial", "endpoint"):
        assert row[name] == stored[name]
    assert (row["functions"], row["locked"]) == (["one", "two"], False)


def test_list_is_narrowed_by_flags(made: Project) -> None:
    assert made.json("state", "list", "--stage", "prod").result["records"] == []
    assert len(made.json("state", "list", "--stage", "dev").result["records"]) == 1
    assert made.json("state", "list", "--provider", "gone").result["records"] == []
    assert made.json("state", "list", "--service", "other").result["service"] == "other"


def test_pull_prints_the_document_as_it_is_stored(made: Project) -> None:
    stored = (made.root / STATE).read_text()
    assert made.fabric("state", "pull", "--provider", "cloud1-lambda").out == stored
    assert made.json("state", "pull").result == document(made)


def test_never_deployed_record_is_not_found(made: Project) -> None:
    for words in (("pull", "--provider", "edge1-workers"), ("show", "--stage", "prod")):
        assert codes(made, *words) == (1, "state/not-found")


def test_secrets_are_not_printed(tmp_path: Path) -> None:
    made = project(tmp_path, service("shop", "one") + "env: {WORD: '${secret:WORD}'}\n", {})
    made.write({"one.py": handler("one")})
    env = {"WORD": "hush-hush-hush"}
    assert made.fabric("deploy", env=env).code == 0
    for words in (("pull",), ("show",), ("list",), ("backup", "--out", "all.json")):
        done = made.fabric("state", *words, env=env)
        assert done.code == 0
        assert "hush-hush" not in done.out + done.err
    assert "hush-hush" not in (made.root / "all.json").read_text()


def test_show_prints_live_functions_as_text(made: Project) -> None:
    text = made.fabric("state", "show").out
    for word in ("shop-dev-one", "shop-dev-two", "History", document(made)["deploymentId"]):
        assert word in text


# Backup and restore.


def test_restore_writes_back_the_backup(made: Project) -> None:
    before, receipt = document(made), document(made, ".fabric/dev.json")
    deploy_record = document(made, DEPLOY_RECORD)
    assert made.fabric("state", "backup", "--out", "kept.json").code == 0
    assert (made.root / "kept.json").stat().st_mode & 0o777 == 0o600
    for path in (STATE, ".fabric/dev.json", DEPLOY_RECORD):
        (made.root / path).unlink()
    assert made.json("state", "list").error["code"] == "state/missing"
    restored = made.json("state", "restore", "--file", "kept.json").result["restored"]
    assert [row["provider"] for row in restored] == ["cloud1-lambda"]
    assert live(document(made)) == live(before)
    assert document(made)["serial"] > before["serial"]
    assert document(made, ".fabric/dev.json") == receipt
    assert document(made, DEPLOY_RECORD) == deploy_record
    assert made.json("deploy").result["summary"]["ran"] == 0


def test_restore_over_a_newer_deploy_gets_a_higher_serial(made: Project) -> None:
    before = document(made)
    assert made.fabric("state", "backup").code == 0
    made.write({"one.py": handler("new")})
    assert made.fabric("deploy").code == 0
    after = document(made)
    assert made.fabric("state", "restore").code == 0
    found = document(made)
    assert live(found) == live(before)
    assert found["serial"] > after["serial"]
    assert found["fence"] > after["fence"]
    # The source is still the new one, so it is what is to be deployed now.
    assert made.json("deploy").result["deployments"][0]["functions"][0]["status"] == "updated"


def test_records_that_a_backup_does_not_hold_stay(made: Project) -> None:
    assert made.fabric("state", "backup").code == 0
    assert made.fabric("deploy", "--stage", "prod").code == 0
    prod = document(made, STATE.replace("/dev/", "/prod/"))
    assert made.fabric("state", "restore").code == 0
    assert document(made, STATE.replace("/dev/", "/prod/")) == prod


def test_restore_is_limited_by_its_flags(made: Project) -> None:
    assert made.fabric("deploy", "--stage", "prod").code == 0
    assert made.fabric("state", "backup").code == 0
    assert [row["stage"] for row in _restored(made, "--stage", "prod")] == ["prod"]
    assert codes(made, "restore", "--stage", "other") == (1, "state/not-found")


def _restored(made: Project, *words: str) -> list[dict[str, Any]]:
    rows = made.json("state", "restore", *words).result["restored"]
    assert isinstance(rows, list)
    return rows


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"deployed"', '"failed"'),
        ("shop-dev-one", "shop-dev-two"),
        ('"version": 1', '"version": 9'),
        ("{", "" ),
        ("}\n", ""),
    ],
    ids=["lifecycle", "name", "newer", "no-object", "cut-off"],
)  # fmt: skip
def test_a_broken_backup_changes_nothing(old: str, new: str, made: Project) -> None:
    assert made.fabric("state", "backup", "--out", "kept.json").code == 0
    path = made.root / "kept.json"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    before = made.tree(".fabric/state"), made.tree(".fabric/deploy")
    done = made.json("state", "restore", "--file", "kept.json")
    assert done.code == 65
    assert done.error["code"].startswith("input/")
    assert (made.tree(".fabric/state"), made.tree(".fabric/deploy")) == before


def test_one_rejected_record_stops_the_whole_restore(made: Project) -> None:
    assert made.fabric("deploy", "--stage", "prod").code == 0
    assert made.fabric("state", "backup").code == 0
    rewritten(made, STATE.replace("/dev/", "/prod/"), lineage="0" * 32)
    before = made.tree(".fabric/state/shop")
    assert codes(made, "restore") == (1, "state/lineage")
    assert made.tree(".fabric/state/shop") == before


def test_empty_state_is_not_backed_up(tmp_path: Path) -> None:
    made = project(tmp_path)
    assert codes(made, "backup") == (1, "state/not-found")
    assert not (made.root / ".fabric/state-backup.json").exists()
    assert codes(made, "restore") == (65, "input/unreadable")


def test_a_backup_of_another_service_is_refused(made: Project) -> None:
    assert made.fabric("state", "backup", "--out", "kept.json").code == 0
    made.write({"fabric.yml": service("other", "one")})
    assert codes(made, "restore", "--file", "kept.json") == (1, "state/other-service")


# Reconcile.


def entries(made: Project, *words: str) -> list[tuple[str, str]]:
    rows = made.json("state", "reconcile", *words).result["entries"]
    return [(row["provider"], row["status"]) for row in rows]


def test_fresh_deployment_is_in_sync(made: Project) -> None:
    assert entries(made) == [("cloud1-lambda", "in-sync")]


def test_never_deployed_stage_has_no_entry(made: Project) -> None:
    assert entries(made, "--stage", "prod") == []


@pytest.mark.parametrize("path", [STATE, f"{STATE} .fabric/dev.json"])
def test_deleted_record_is_missing(path: str, made: Project) -> None:
    for one in path.split():
        (made.root / one).unlink()
    assert entries(made) == [("cloud1-lambda", "missing")]


@pytest.mark.parametrize("path", [".fabric/dev.json", DEPLOY_RECORD])
def test_deleted_receipt_is_drift_and_fix_recreates_it(path: str, made: Project) -> None:
    before = document(made, path)
    (made.root / path).unlink()
    assert entries(made) == [("cloud1-lambda", "drifted")]
    assert not (made.root / path).exists()
    assert entries(made, "--fix") == [("cloud1-lambda", "in-sync")]
    assert document(made, path) == before


def test_edited_receipt_is_drift(made: Project) -> None:
    path = made.root / ".fabric/dev.json"
    path.write_text(path.read_text().replace("simulated", "real"))
    row = made.json("state", "reconcile").result["entries"][0]
    assert (row["status"], "mode" in row["detail"]) == ("drifted", True)


def test_deleted_archive_is_drift(made: Project) -> None:
    next((made.root / ".fabric/archives").glob("*.zip")).unlink()
    assert entries(made) == [("cloud1-lambda", "drifted")]


def test_a_function_that_no_config_names_is_orphaned(made: Project) -> None:
    made.write({"fabric.yml": service("shop", "one")})
    row = made.json("state", "reconcile").result["entries"][0]
    assert (row["status"], row["detail"]) == ("orphaned", "not in the config: `two`")


def test_a_provider_that_no_config_names_is_orphaned(made: Project) -> None:
    made.write({"fabric.yml": service("shop", "one", "two").replace("cloud1-lambda", "host1")})
    assert entries(made) == [("cloud1-lambda", "orphaned")]


def test_a_service_that_no_config_names_is_orphaned(made: Project) -> None:
    made.write({"fabric.yml": service("renamed", "one", "two")})
    assert entries(made) == [("cloud1-lambda", "orphaned")]
    made.write({"second.yml": service("shop", "one", "two")})
    assert entries(made) == []


def test_deploy_of_another_stage_is_no_drift(made: Project) -> None:
    assert made.fabric("deploy", "--stage", "prod").code == 0
    assert entries(made, "--stage", "dev") == [("cloud1-lambda", "in-sync")]
    assert entries(made, "--stage", "prod") == [("cloud1-lambda", "in-sync")]


# Locks.


def lock(made: Project, folder: str = "") -> None:
    """As a run on another machine holds it, that nobody can prove dead."""
    holder = {
        "id": "abc", "service": "shop", "stage": "dev", "provider": "cloud1-lambda",
        "operation": "deploy", "who": "ann@far-away", "pid": 7, "fence": 41,
        "createdAt": "2026-01-01T00:00:00Z", "heartbeatAt": "", "expiresAt": "",
    }  # fmt: skip
    made.write({f"{folder}{LOCK}": json.dumps(holder)})


def test_force_unlock_frees_a_lock_and_keeps_its_fence(made: Project) -> None:
    lock(made)
    assert made.json("state", "list").result["records"][0]["locked"] is True
    made.write({"one.py": handler("new")})
    assert made.json("deploy").code == 75
    result = made.json("state", "force-unlock", "--provider", "cloud1-lambda").result
    assert result["unlocked"] is True
    assert (result["holder"]["who"], result["holder"]["fence"]) == ("ann@far-away", 41)
    assert made.json("deploy").code == 0
    assert document(made)["fence"] == 42


@pytest.mark.parametrize(
    ("words", "config"),
    [
        (("compose", "deploy"), "fabric.yml"),
        (("compose", "deploy"), "own.yml"),
        (("deploy", "-c", "shop"), "fabric.yml"),
        (("state", "rm", "-y", "-c", "shop/own.yml"), "own.yml"),
    ],
)
def test_suggested_unlock_command_works_from_the_current_folder(
    words: tuple[str, ...], config: str, tmp_path: Path
) -> None:
    made = compose(tmp_path, shop=())
    (made.root / "shop/fabric.yml").rename(made.root / "shop" / config)
    made.write({"fabric.compose.yml": f"services: [{{name: shop, config: shop/{config}}}]\n"})
    lock(made, "shop/")
    hint = made.json(*words).error["hint"]
    told = shlex.split(hint.partition(" fabric ")[2])
    assert made.json(*told).result["unlocked"] is True
    assert made.json(*words).code == 0


def test_suggested_unlock_command_names_the_selected_backend(made: Project) -> None:
    lock(made)
    made.write({"fabric.yml": f"{service('shop', 'one', 'two')}backend: {{kind: sql}}\n"})
    words = ("state", "rm", "-y", "--backend", "local")
    told = shlex.split(made.json(*words).error["hint"].partition(" fabric ")[2])
    assert made.json(*told).result["unlocked"] is True
    assert made.json(*words).code == 0


def test_force_unlock_reports_a_missing_lock(made: Project) -> None:
    assert made.json("state", "force-unlock").result == {"unlocked": False}
    assert made.json("state", "force-unlock", "--stage", "other").result == {"unlocked": False}


@pytest.mark.parametrize("words", [("restore",), ("rm",), ("push", "--file", STATE)])
def test_a_held_lock_keeps_changes_away(words: tuple[str, ...], made: Project) -> None:
    assert made.fabric("state", "backup").code == 0
    lock(made)
    assert codes(made, *words) == (75, "lock/held")


# Push.


def test_errored_state_is_pushed_and_deploys_continue(made: Project) -> None:
    rewritten(made, target=ERRORED, endpoint="https://kept.example")
    assert made.json("deploy").error["code"] == "state/errored"
    assert made.json("state", "push").result["serial"] == document(made)["serial"]
    assert document(made)["endpoint"] == "https://kept.example"
    assert not (made.root / ERRORED).exists()
    assert made.json("deploy").code == 0


def test_push_takes_nothing_older_but_by_force(made: Project) -> None:
    (made.root / "old.json").write_text((made.root / STATE).read_text())
    made.write({"one.py": handler("new")})
    assert made.fabric("deploy").code == 0
    newer = document(made)["serial"]
    assert codes(made, "push", "--file", "old.json") == (1, "state/serial")
    assert document(made)["serial"] == newer
    assert made.fabric("state", "push", "--file", "old.json", "--force").code == 0
    assert document(made)["serial"] > newer


def test_push_never_takes_another_lineage(made: Project) -> None:
    rewritten(made, target="other.json", lineage="0" * 32, serial=99)
    assert codes(made, "push", "--file", "other.json", "--force") == (1, "state/lineage")


def test_push_of_a_broken_file_changes_nothing(made: Project) -> None:
    path = made.root / "broken.json"
    path.write_text((made.root / STATE).read_text().replace('"deployed"', '"failed"', 1))
    before = made.tree(".fabric/state")
    assert codes(made, "push", "--file", "broken.json") == (65, "input/broken-state")
    rewritten(made, target="broken.json", stage="../../out")
    assert codes(made, "push", "--file", "broken.json") == (65, "config/stage-name")
    assert made.tree(".fabric/state") == before


def test_push_without_errored_state_is_rejected(made: Project) -> None:
    assert codes(made, "push") == (1, "state/nothing-to-push")
    assert codes(made, "push", "--file", STATE, "--stage", "prod") == (64, "usage/other-record")


# Migrate.


def test_migrate_copies_and_leaves_the_source(made: Project) -> None:
    before = (made.root / STATE).read_text()
    result = made.json("state", "migrate", "--from", "local", "--to", "sql").result
    assert (result["from"], result["to"], result["archives"]) == ("local", "sql", 2)
    assert [row["stage"] for row in result["records"]] == ["dev"]
    assert (made.root / STATE).read_text() == before
    assert made.fabric("state", "pull", "--backend", "sql").out == before
    made.write({"fabric.yml": service("shop", "one", "two") + "backend: {kind: sql}\n"})
    assert made.json("deploy").result["summary"]["ran"] == 0


def test_migrate_copies_archives_to_a_machine_without_them(made: Project) -> None:
    assert made.fabric("state", "migrate", "--from", "local", "--to", "sql").code == 0
    archives = made.tree(".fabric/archives")
    for path in (made.root / ".fabric/archives").iterdir():
        path.unlink()
    (made.root / STATE).unlink()
    assert made.json("state", "migrate", "--from", "sql", "--to", "local").result["archives"] == 2
    assert made.tree(".fabric/archives") == archives


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("--from local", (64, "usage/unknown-backend")),
        ("--to local", (64, "usage/unknown-backend")),
        ("--from sql --to sql", (64, "usage/same-backend")),
        ("--from sql --to s3", (64, "usage/unknown-backend")),
        ("--from local --to objstore1", (65, "config/backend-incomplete")),
    ],
)
def test_migrate_needs_two_kinds(words: str, code: tuple[int, str], made: Project) -> None:
    assert codes(made, "migrate", *words.split()) == code


def test_migrate_does_not_overwrite_another_lineage(made: Project) -> None:
    local = (made.root / "fabric.yml").read_text()
    made.write({"fabric.yml": f"{local}backend: {{kind: sql}}\n"})
    lost = made.json("deploy").error
    assert lost["code"] == "state/missing"
    assert "state migrate" in lost["hint"]
    assert made.fabric("state", "rm", "--yes").code == 0
    assert made.fabric("deploy").code == 0
    stored = made.fabric("state", "pull").out
    assert codes(made, "migrate", "--from", "local", "--to", "sql") == (1, "state/lineage")
    assert made.fabric("state", "pull").out == stored


def test_second_migration_copies_only_newer_records(made: Project) -> None:
    words = ("migrate", "--from", "local", "--to", "sql")
    assert made.fabric("state", *words).code == 0
    made.write({"one.py": handler("new")})
    assert made.fabric("deploy").code == 0
    back = ("migrate", "--from", "sql", "--to", "local")
    assert codes(made, *back) == (1, "state/serial")
    assert made.fabric("state", *words).code == 0
    assert made.fabric("state", "pull", "--backend", "sql").out == (made.root / STATE).read_text()


# Forget.


def test_rm_deletes_a_record_and_its_local_files(made: Project) -> None:
    rewritten(made, target=ERRORED)
    assert made.json("state", "rm").result["removed"] is True
    for path in (STATE, ERRORED, ".fabric/dev.json", DEPLOY_RECORD):
        assert not (made.root / path).exists()
    assert made.json("state", "rm").result["removed"] is False
    assert made.json("deploy").result["deployments"][0]["status"] == "deployed"


# State that cannot be read.


@pytest.mark.parametrize("words", READERS)
def test_every_command_reports_unreadable_state(words: str, made: Project) -> None:
    (made.root / STATE).write_text('{"version": 1}')
    assert codes(made, *words.split()) == (1, "state/corrupt")


def test_unreadable_state_may_be_anything(made: Project) -> None:
    for content in (b"", b"[1]", b"null", b"\xff\xfe", b"[" * 9999):
        (made.root / STATE).write_bytes(content)
        assert codes(made, "list") == (1, "state/corrupt")


def test_readable_records_are_listed_beside_unreadable_ones(made: Project) -> None:
    assert made.fabric("deploy", "--stage", "prod").code == 0
    (made.root / STATE).write_text("{}")
    answer = made.json("state", "list").document
    assert [row["stage"] for row in answer["result"]["records"]] == ["prod"]


@pytest.mark.parametrize("words", ["rm", "restore"])
def test_unreadable_state_can_be_forgotten_or_replaced(words: str, made: Project) -> None:
    assert made.fabric("state", "backup").code == 0
    (made.root / STATE).write_text("{}")
    assert made.fabric("state", words).code == 0
    assert made.fabric("deploy").code == 0


def test_a_record_of_a_newer_fabric_is_not_replaced(made: Project) -> None:
    assert made.fabric("state", "backup").code == 0
    rewritten(made, version=99)
    assert codes(made, "restore") == (1, "state/newer-version")
