"""`fabric router`: one name over several targets, shifted, told of, and gone back from."""

import json
import shlex
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from fabric.model.records.record import RecordRef
from fabric.state.backends.local import Local
from fabric.state.locks.leases import Terms
from fabric.state.records.transaction import LockPolicy, lock_records
from fabric.state.store import BackEndPair, RecordStore
from fabric.system.clock import SystemClock
from fabric.system.process.process_identity import identify_this_process
from tests.support.in_process import project
from tests.support.project import PYTHON, PYTHON_SOURCES, Project
from tests.support.router_project import (
    HISTORY,
    LABELS,
    STATE,
    ZONE,
    config_of,
    deployed_router,
    document,
    router_project,
    weights,
)

_EVEN = {"main": 34, "spare": 33, "third": 33}


@pytest.fixture
def made(tmp_path: Path) -> Project:
    return deployed_router(tmp_path)


def shift(made: Project, label: str, percent: int, *words: str) -> dict[str, int]:
    argv = ("dns-shift", "--provider", label, "--percent", str(percent), *words)
    found = made.json("router", *argv).result["weights"]
    assert isinstance(found, dict)
    return found


def test_all_targets_are_deployed_and_the_name_follows(tmp_path: Path) -> None:
    made = router_project(tmp_path)
    result = made.json("router", "deploy", "--sync-dns").result
    assert [row["provider"] for row in result["deployments"]] == list(LABELS)
    assert {row["status"] for row in result["deployments"]} == {"deployed"}
    assert result["sync"]["weights"] == _EVEN == weights(made)
    state = document(made, STATE)
    assert (state["service"], state["stage"]) == ("shop", "dev")
    assert set(state["endpoints"][0]) == {
        "label", "provider", "url", "weight", "healthy", "updatedAt",
    }  # fmt: skip
    (entry,) = document(made, HISTORY)["entries"]
    assert (entry["operation"], entry["trigger"], entry["dryRun"]) == (
        "dns-sync", "router deploy", False,
    )  # fmt: skip
    assert entry["before"] == []
    assert [share["weight"] for share in entry["after"]] == [34, 33, 33]


def test_without_the_switch_the_name_stays_as_it_is(tmp_path: Path) -> None:
    made = router_project(tmp_path)
    assert made.json("router", "deploy").result["sync"] is None
    assert not (made.root / STATE).exists()


def test_the_config_may_say_that_the_name_follows(tmp_path: Path) -> None:
    made = router_project(tmp_path, "{hostname: api.example.com, autoApply: true}")
    assert made.json("router", "deploy").result["sync"]["weights"] == _EVEN


def test_router_settings_do_not_affect_deployments(made: Project) -> None:
    made.write({"fabric.yml": config_of("{hostname: other.example.com, ttl: 30}")})
    rows = made.json("router", "deploy").result["deployments"]
    assert {row["status"] for row in rows} == {"unchanged"}


def test_a_failed_target_leaves_the_name_as_it_is(made: Project) -> None:
    made.write({"src/one.py": "def handler(event, context):\n    return 2\n"})
    env = {"FABRIC_CLOUD2_REAL_DEPLOY": "1", "FABRIC_CLOUD2_DEPLOY_CMD": "false"}
    done = made.json("router", "deploy", "--sync-dns", env=env)
    assert (done.code, done.document["ok"]) == (2, False)
    result = done.document["result"]
    assert [row["status"] for row in result["deployments"]] == ["deployed", "failed", "deployed"]
    assert result["sync"] is None
    assert len(document(made, HISTORY)["entries"]) == 1


def test_a_shift_gives_exactly_the_percent(made: Project) -> None:
    assert shift(made, "spare", 70) == {"main": 15, "spare": 70, "third": 15} == weights(made)


def test_an_endpoint_may_be_named_by_its_provider(made: Project) -> None:
    assert shift(made, "host3-machines", 60) == {"main": 20, "spare": 20, "third": 60}
    text = config_of().replace("{name: cloud2-functions}", "{name: host3-machines}")
    made.write({"fabric.yml": text})
    argv = ("dns-shift", "--provider", "host3-machines", "--percent", "10")
    done = made.json("router", *argv)
    assert (done.code, done.error["code"]) == (64, "usage/ambiguous-provider")
    assert "`spare`, `third`" in done.error["message"]


def test_a_dry_run_changes_nothing_but_is_on_record(made: Project) -> None:
    zone = (made.root / ZONE).read_bytes()
    assert shift(made, "spare", 70, "--dry-run") == {"main": 15, "spare": 70, "third": 15}
    assert weights(made) == _EVEN
    assert (made.root / ZONE).read_bytes() == zone
    assert [one["dryRun"] for one in document(made, HISTORY)["entries"]] == [True, False]


@pytest.mark.parametrize(
    ("label", "percent", "code", "exit_code"),
    [
        ("nobody", "10", "router/unknown-label", 1),
        ("mian", "10", "router/unknown-label", 1),
        ("main", "0", "router/bad-percent", 64),
        ("main", "100", "router/bad-percent", 64),
        ("main", "-5", "router/bad-percent", 64),
        ("main", "99", "usage/too-much", 64),
        ("main", "half", "usage/bad-value", 64),
    ],
)
def test_a_shift_that_cannot_be_changes_nothing(
    made: Project, label: str, percent: str, code: str, exit_code: int
) -> None:
    done = made.json("router", "dns-shift", "--provider", label, f"--percent={percent}")
    assert (done.code, done.error["code"]) == (exit_code, code)
    assert weights(made) == _EVEN


def test_drift_is_reported_and_then_fixed(made: Project) -> None:
    said = made.json("router", "dns-reconcile").result
    assert set(said) == {"dryRun", "summary", "actions"}
    assert said["summary"] == {
        "create": 0, "update": 0, "noop": 2, "deleteCandidate": 0, "driftDetected": False,
    }  # fmt: skip
    text = (made.root / ZONE).read_text().replace("main=shop", "main=elsewhere")
    made.write({ZONE: text})
    for _ in range(2):
        said = made.json("router", "dns-reconcile").result
        assert (said["dryRun"], said["summary"]["update"]) == (True, 1)
        assert (made.root / ZONE).read_text() == text
    assert made.json("router", "dns-reconcile", "--apply").result["dryRun"] is False
    assert not made.json("router", "dns-reconcile").result["summary"]["driftDetected"]


def test_owned_record_no_longer_wanted_is_reported_and_not_deleted(made: Project) -> None:
    made.write({"fabric.yml": config_of("{hostname: other.example.com}")})
    summary = made.json("router", "dns-sync").result["summary"]
    assert (summary["create"], summary["deleteCandidate"]) == (1, 1)
    assert "api.example.com" in (made.root / ZONE).read_text()


def test_record_of_another_owner_is_never_changed(made: Project) -> None:
    text = (made.root / ZONE).read_text().replace("shop/dev", "else/dev")
    made.write({ZONE: text})
    done = made.json("router", "dns-sync")
    assert (done.code, done.error["code"]) == (1, "router/foreign")
    assert "fabric-shop-dev" in done.error["message"]
    assert done.error["where"]["file"].endswith("fabric.yml")
    assert (made.root / ZONE).read_text() == text


def test_status_shows_records_of_other_owners(made: Project) -> None:
    text = (made.root / ZONE).read_text().replace("shop/dev", "else/dev")
    made.write({ZONE: text})
    found = made.json("router", "status").result
    assert [one["resource"] for one in found["foreign"]] == ["lb_pool", "load_balancer"]
    assert len(found["endpoints"]) == len(LABELS)
    done = made.fabric("router", "status")
    assert done.code == 0
    assert "router/foreign" in done.err
    assert "other owner: load_balancer api.example.com" in done.out
    assert made.fabric("router", "status", "--graph", "svg").out.startswith("<svg ")


def test_sync_without_changes_adds_no_history_entry(made: Project) -> None:
    (entry,) = document(made, HISTORY)["entries"]
    assert made.json("router", "dns-sync").result["id"] == entry["id"]
    assert made.json("router", "dns-reconcile", "--apply").code == 0
    assert document(made, HISTORY)["entries"] == [entry]


def test_restore_skips_dry_runs(made: Project) -> None:
    shift(made, "spare", 70)
    shift(made, "spare", 10)
    shift(made, "main", 90, "--dry-run")
    assert made.json("router", "dns-restore").result["weights"]["spare"] == 70
    assert weights(made)["spare"] == 70
    assert made.json("router", "dns-restore").result["weights"]["spare"] == 10


def test_restore_accepts_a_snapshot_id(made: Project) -> None:
    shift(made, "spare", 70)
    shift(made, "spare", 10)
    entries = made.json("router", "dns-history").result["entries"]
    named = ("router", "dns-restore", "--snapshot-id", entries[-1]["id"])
    assert made.json(*named).result["weights"] == _EVEN
    done = made.json("router", "dns-restore", "--snapshot-id", "dev-1")
    assert (done.code, done.error["code"]) == (1, "router/unknown-snapshot")


def test_restore_without_history_is_rejected(tmp_path: Path) -> None:
    made = router_project(tmp_path)
    made.json("router", "deploy")
    done = made.json("router", "dns-restore")
    assert (done.code, done.error["code"]) == (1, "router/no-history")


def test_the_history_shows_the_trend_and_the_last_operation(made: Project) -> None:
    shift(made, "spare", 70)
    shift(made, "third", 50, "--dry-run")
    result = made.json("router", "dns-history").result
    assert set(result) == {"entries", "trend"}
    assert [one["operation"] for one in result["entries"]] == ["dns-shift", "dns-shift", "dns-sync"]
    assert [point["weights"]["spare"] for point in result["trend"]] == [33, 70]
    said = made.fabric("router", "dns-history").out
    assert "Last: dns-shift by command, dry run" in said
    assert "▃▆" in said


def test_history_is_limited_to_thirty_and_retains_the_last_applied_entry(made: Project) -> None:
    for number in range(32):
        shift(made, "spare", 1 + number, "--dry-run")
    entries = document(made, HISTORY)["entries"]
    assert (len(entries), entries[-1]["dryRun"]) == (30, False)


def test_a_damaged_history_loses_nothing_that_is_live(made: Project) -> None:
    made.write({HISTORY: "{ half"})
    assert made.json("router", "dns-restore").error["code"] == "router/damaged-history"
    done = made.fabric("router", "dns-shift", "--provider", "spare", "--percent", "70")
    assert done.code == 0
    assert "router/damaged-history" in done.err
    assert weights(made)["spare"] == 70
    assert (made.root / f"{HISTORY}.damaged").read_text() == "{ half"
    assert len(document(made, HISTORY)["entries"]) == 1


@pytest.mark.parametrize("lost", [(STATE,), (STATE, HISTORY)])
def test_lost_files_lose_no_weights(made: Project, lost: tuple[str, ...]) -> None:
    """The history knows them, and else the back end."""
    shift(made, "spare", 70)
    for name in lost:
        (made.root / name).unlink()
    assert made.json("router", "dns-sync").result["weights"]["spare"] == 70


def test_damaged_history_and_lost_state_keep_the_current_weights(made: Project) -> None:
    shift(made, "spare", 70)
    (made.root / STATE).unlink()
    made.write({HISTORY: "{ half"})
    assert made.json("router", "status").code == 0
    done = made.fabric("router", "deploy", "--sync-dns")
    assert done.code == 0, done.err
    assert "router/damaged-history" in done.err
    assert weights(made)["spare"] == 70


def test_damaged_state_is_reported_and_left_unchanged(made: Project) -> None:
    made.write({STATE: "[]"})
    done = made.json("router", "dns-sync")
    assert (done.code, done.error["code"]) == (1, "router/damaged-state")
    assert (made.root / STATE).read_text() == "[]"


def test_requests_are_spread_by_weight_and_equal_each_time(made: Project) -> None:
    shift(made, "spare", 70)
    said = [made.json("router", "simulate", "--requests", "1000003").result for _ in range(2)]
    assert said[0] == said[1]
    assert sum(said[0]["shares"].values()) == said[0]["requests"] == 1_000_003
    assert abs(said[0]["shares"]["spare"] - 700_002) <= 1


def test_chaos_verify_tests_each_endpoint_failure(made: Project) -> None:
    text = config_of().replace("routing: round-robin", "healthCheck: {enabled: true}")
    made.write({"fabric.yml": text})
    scenarios = made.json("router", "chaos-verify").result["scenarios"]
    assert [one["down"] for one in scenarios] == [["main"], ["spare"], ["third"], list(LABELS)]
    assert {one["verdict"] for one in scenarios} == {"pass"}


def test_chaos_verify_reports_missing_health_checks(made: Project) -> None:
    scenarios = made.json("router", "chaos-verify").result["scenarios"]
    assert {one["verdict"] for one in scenarios} == {"pass"}
    assert "no health check" in scenarios[-1]["detail"]
    router = "{hostname: api.example.com, provider: pdns}"
    text = config_of(router).replace("routing: round-robin", "healthCheck: {enabled: true}")
    made.write({"fabric.yml": text})
    assert "router/nobody-asks" in made.fabric("router", "status").err


def test_status_and_endpoints_show_the_current_state(made: Project) -> None:
    status = made.json("router", "status").result
    assert (status["hostname"], status["simulated"]) == ("api.example.com", True)
    assert status["summary"]["driftDetected"] is False
    rows = made.json("router", "endpoints").result["endpoints"]
    assert [(row["label"], row["healthy"], row["checked"]) for row in rows] == [
        (label, True, False) for label in LABELS
    ]


@pytest.mark.parametrize(
    "words",
    [
        ("dns-sync",), ("dns-reconcile",), ("dns-shift", "--provider", "a", "--percent", "5"),
        ("dns-restore",), ("dns-history",), ("status",), ("endpoints",), ("simulate",),
        ("chaos-verify",), ("deploy",),
    ],
)  # fmt: skip
def test_without_a_router_nothing_is_done(tmp_path: Path, words: tuple[str, ...]) -> None:
    made = project(tmp_path, PYTHON, PYTHON_SOURCES)
    done = made.json("router", *words)
    assert (done.code, done.error["code"]) == (1, "router/not-configured")
    assert done.document["command"] == f"router {words[0]}"


def test_an_endpoint_without_an_address_is_named(tmp_path: Path) -> None:
    made = router_project(tmp_path)
    made.fabric("deploy", "--provider", "main")
    done = made.json("router", "dns-sync")
    assert done.code == 1
    assert [one["code"] for one in done.error["problems"]] == ["router/no-address"] * 2
    assert "spare" in done.error["problems"][0]["message"]


@pytest.mark.parametrize(
    "url",
    [
        "https://x'}}) .. tostring(os.execute('touch pwned')) .. pickwrandom({{1,'x/",
        "https://it's.example",
        "https://two words.example",
        "https://[half",
    ],
)
def test_an_address_that_no_name_can_lead_to_is_refused(made: Project, url: str) -> None:
    """What name servers are told may be run by them."""
    command = f"""printf '%s' {shlex.quote(json.dumps({"url": url}))}"""
    env = {"FABRIC_CLOUD2_REAL_DEPLOY": "1", "FABRIC_CLOUD2_DEPLOY_CMD": command}
    zone = (made.root / ZONE).read_bytes()
    for words in (("deploy", "--sync-dns", "--force"), ("deploy", "--sync-dns"), ("dns-sync",)):
        done = made.json("router", *words, env=env)
        assert done.error["code"] == "router/bad-address", done.out
        assert "spare" in done.error["message"]
        assert done.error["hint"]
        assert "fabric.yml" in done.error["where"]["file"]
    assert made.json("router", "status", env=env).code == 0
    assert (made.root / ZONE).read_bytes() == zone


def test_remove_warns_of_names_still_routed_there_and_shift_moves_them(
    made: Project,
) -> None:
    shift(made, "spare", 70)
    done = made.fabric("remove", "--provider", "spare")
    assert done.code == 0
    assert "router/still-led" in done.err
    assert "`api.example.com` still routes to removed endpoints: `spare` with 70 %" in done.err
    assert "dns-shift --provider main --percent 99" in done.err
    assert made.json("router", "dns-sync").error["code"] == "router/no-address"
    assert shift(made, "main", 60) == {"main": 60, "third": 40} == weights(made)
    assert shift(made, "main", 99) == {"main": 99, "third": 1}
    assert "spare" not in (made.root / ZONE).read_text().replace("shop-spare", "spare")
    assert made.fabric("remove", "--provider", "third").code == 0
    done = made.fabric("router", "dns-shift", "--provider", "main", "--percent", "99")
    assert "router/left-out" in done.err
    assert weights(made) == {"main": 100}
    done = made.json("router", "dns-shift", "--provider", "third", "--percent", "50")
    assert done.error["code"] == "router/no-address"
    assert "router/still-led" not in made.fabric("remove", "--provider", "third").err


def test_prod_stage_requires_its_own_switch(tmp_path: Path) -> None:
    made = router_project(tmp_path)
    words = ("router", "deploy", "--sync-dns", "--stage", "prod")
    done = made.json(*words)
    assert (done.code, done.error["code"]) == (64, "usage/prod-dns")
    assert not (made.root / ".fabric/prod.json").exists()
    assert made.json(*words, "--allow-prod-dns-sync").code == 0
    assert made.json("router", "dns-reconcile", "--stage", "prod").code == 0


@pytest.mark.parametrize("rule", ["true", "[dev]", "{dev: true}"])
def test_required_reason_is_enforced_and_recorded(tmp_path: Path, rule: str) -> None:
    made = router_project(tmp_path, f"{{hostname: api.example.com, requireReason: {rule}}}")
    made.json("router", "deploy")
    done = made.json("router", "dns-sync")
    assert (done.code, done.error["code"]) == (64, "usage/reason-missing")
    assert made.json("router", "dns-sync", "--reason", "new region").result["reason"]
    assert document(made, HISTORY)["entries"][0]["reason"] == "new region"


def test_approval_is_given_by_a_variable(tmp_path: Path) -> None:
    router = "{hostname: api.example.com, approvalEnvByStage: {dev: APPROVED}}"
    made = router_project(tmp_path, router)
    made.json("router", "deploy")
    done = made.json("router", "dns-sync")
    assert (done.code, done.error["code"]) == (1, "router/not-approved")
    assert made.json("router", "dns-sync", env={"APPROVED": "1"}).code == 0


def test_additive_policy_rejects_weight_changes(tmp_path: Path) -> None:
    router = "{hostname: api.example.com, mutationPolicy: additive}"
    made = deployed_router(tmp_path, router)
    done = made.json("router", "dns-shift", "--provider", "main", "--percent", "50")
    assert (done.code, done.error["code"]) == (1, "router/policy")
    assert weights(made) == _EVEN


def test_a_new_target_begins_as_a_canary(made: Project) -> None:
    text = config_of("{hostname: api.example.com, canary: {percent: 5}}")
    fourth = text.replace("  third:", "  fourth: {name: host1}\n  third:")
    made.write({"fabric.yml": fourth.replace("spare, third]", "spare, third, fourth]")})
    found = made.json("router", "deploy", "--sync-dns").result["sync"]["weights"]
    assert (found["fourth"], sum(found.values())) == (5, 100)


def test_a_zone_file_is_written_for_name_servers(tmp_path: Path) -> None:
    made = deployed_router(tmp_path, "{hostname: api.example.com, provider: local}")
    text = (made.root / ".fabric/router-zone-dev.zone").read_text()
    assert "_https._tcp.api.example.com. 60 IN SRV 1 33 443" in text


@pytest.mark.parametrize(
    ("router", "where"),
    [
        ("{hostname: nodots}", "hostname"),
        ("{hostname: 127.0.0.1}", "hostname"),
        ("{hostname: api.example.com, provider: other}", "provider"),
        ("{hostname: api.example.com, ttl: 0}", "ttl"),
        ("{hostname: api.example.com, canary: {percent: 0}}", "percent"),
        ("{hostname: api.example.com, mutationPolicy: some}", "mutationPolicy"),
    ],
)
def test_invalid_settings_are_reported_with_their_line(
    tmp_path: Path, router: str, where: str
) -> None:
    done = router_project(tmp_path, router).json("router", "status")
    assert done.code == 65
    assert where in done.error["message"]
    assert done.error["where"]["line"] == 11


def test_two_services_of_a_folder_do_not_share_a_router(made: Project) -> None:
    other = config_of().replace("service: shop", "service: other")
    made.write({"other.yml": other})
    made.json("router", "deploy", "-c", "other.yml")
    before = (made.root / STATE).read_bytes()
    done = made.json("router", "dns-sync", "-c", "other.yml")
    assert (done.code, done.error["code"]) == (1, "router/other-service")
    assert (made.root / STATE).read_bytes() == before


def test_secrets_of_functions_need_not_be_there(made: Project) -> None:
    """Who shifts need not know what functions are given."""
    bound = config_of().replace("functions:", "env: {TOKEN: '${env:NOT_SET}'}\nfunctions:")
    made.write({"fabric.yml": bound})
    assert shift(made, "main", 50)["main"] == 50


def test_json_is_one_document(made: Project) -> None:
    for words in (("dns-sync",), ("status",), ("dns-history",), ("simulate",)):
        assert json.loads(made.json("router", *words).out)["command"] == f"router {words[0]}"


def test_the_router_is_drawn(made: Project) -> None:
    shift(made, "spare", 70)
    for form in ("svg", "html"):
        done = made.fabric("router", "status", "--graph", form, "--out", f"router.{form}")
        assert done.code == 0, done.err
        text = (made.root / f"router.{form}").read_text()
        assert "api.example.com" in text
        assert "spare  70 %" in text
    root = ET.fromstring((made.root / "router.svg").read_text())  # noqa: S314 - our own
    shares = [one for one in root.iter() if one.get("class") == "share"]
    assert len(shares) == len(LABELS)
    assert made.fabric("router", "status", "--graph", "svg").out.startswith("<svg ")
    assert made.json("router", "status", "--out", "x.svg").code == 64


@pytest.mark.parametrize(
    "words",
    [
        ("dns-shift", "--provider", "spare", "--percent", "26", "--every", "banana"),
        ("dns-shift", "--provider", "spare", "--percent", "26", "--every", "2m"),
        ("dns-reconcile", "--reason", "x"),
        ("dns-reconcile", "--yes"),
        ("dns-reconcile", "--lock-timeout", "5s"),
        ("status", "--graph", "svg"),
        ("deploy", "--reason", "x"),
        ("deploy", "--dry-run", "--events", "run.ndjson"),
    ],
)
def test_an_option_without_an_effect_is_refused(made: Project, words: tuple[str, ...]) -> None:
    before = made.tree()
    done = made.json("router", *words)
    assert (done.code, done.error["code"]) == (64, "usage/no-effect")
    assert done.error["hint"]
    assert made.tree() == before


def test_a_picture_is_not_written_over_the_config(made: Project) -> None:
    text = (made.root / "fabric.yml").read_text()
    done = made.json("router", "status", "--graph", "svg", "--out", "fabric.yml")
    assert (done.code, done.error["code"]) == (64, "usage/own-file")
    assert (made.root / "fabric.yml").read_text() == text


def test_long_history_prints_how_many_entries_are_hidden(made: Project) -> None:
    for percent in range(10, 22):
        shift(made, "spare", percent, "--reason", "two\nlines")
    said = made.fabric("router", "dns-history").out
    assert "3 older entries not shown" in said
    assert "two lines" in said


def test_lock_holder_of_the_name_is_reported_and_can_be_unlocked(made: Project) -> None:
    store = Local(made.root / ".fabric/state")
    place = RecordStore(made.root / ".fabric", BackEndPair(store, store))
    ref = RecordRef("shop", "dev", "router")
    policy = LockPolicy(identify_this_process(), SystemClock(), Terms())
    with lock_records(place, {ref: 0}, "router dns-shift", policy):
        done = made.json("router", "dns-sync")
        assert (done.code, done.error["code"]) == (75, "lock/held")
        assert "force-unlock" in done.error["hint"]
        assert made.json("router", "dns-sync", "--dry-run").code == 0
        unlocked = made.json("state", "force-unlock", "--provider", "router", "--yes")
        assert unlocked.result["unlocked"] is True
        assert made.json("router", "dns-sync").code == 0
