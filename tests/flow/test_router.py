"""Names that are really answered: shifted while somebody asks, and mended."""

import json
import threading
from pathlib import Path

import pytest

from tests.support.project import ended, environment, started
from tests.support.real_router import RealRouter
from tests.support.router_project import (
    STATE,
    document,
)
from tests.support.servers.pdns import PdnsSite


@pytest.fixture
def router(tmp_path: Path, pdns: PdnsSite) -> RealRouter:
    made = RealRouter(tmp_path, pdns)
    done = made.json("deploy", "--sync-dns")
    assert done.code == 0, done.out
    return made


@pytest.mark.slow
def test_every_query_is_answered_while_shares_shift(router: RealRouter) -> None:
    found: list[int] = []
    is_over = threading.Event()

    def ask() -> None:
        while not is_over.is_set():
            found.append(sum(router.pdns.answers(router.name, 200).values()))

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        for percent in (10, 50, 90):
            assert router.shift("spare", percent).code == 0
        assert router.json("dns-restore").code == 0
    finally:
        is_over.set()
        asking.join()
    assert found
    assert set(found) == {200}


def test_of_two_services_that_lead_one_name_at_once_one_has_it(
    tmp_path: Path, pdns: PdnsSite
) -> None:
    """The other is told, and leaves it as it is."""
    both = [RealRouter(tmp_path / name, pdns, name) for name in ("one", "two")]
    home = both[0].project.home
    for each in both:
        assert each.json("deploy").code == 0
    words = ("router", "dns-sync", "--json")
    running = [started(words, one.project.root, environment(home, one.env)) for one in both]
    done = [ended(one) for one in running]
    assert sorted(one.code for one in done) == [0, 1]
    winner, loser = sorted(done, key=lambda one: one.code)
    assert loser.error["code"] == "router/foreign"
    (found,) = pdns.record_sets(both[0].name)
    assert found["comments"][0]["content"] == f"{winner.result['service']}/dev"


def test_manual_zone_edit_is_reported_and_fixed(router: RealRouter) -> None:
    (found,) = router.pdns.record_sets(router.name)
    found["records"][0]["content"] = found["records"][0]["content"].replace("one.", "away.")
    router.pdns.set_records(found)
    assert router.json("dns-reconcile").result["summary"]["update"] == 1
    assert router.json("dns-reconcile", "--apply").code == 0
    assert "away." not in json.dumps(router.pdns.record_sets(router.name))


def test_without_a_key_the_zone_is_stored_in_a_file_with_a_warning(
    tmp_path: Path, pdns: PdnsSite
) -> None:
    made = RealRouter(tmp_path, pdns)
    made.env.pop("PDNS_API_KEY")
    done = made.project.fabric("router", "deploy", "--sync-dns", env=made.env)
    assert done.code == 0, done.err
    assert "router/no-credentials" in done.err
    assert "PDNS_API_KEY" in done.err
    assert pdns.record_sets(made.name) == []


def test_a_wrong_key_changes_nothing_and_is_not_shown(router: RealRouter) -> None:
    before = document(router.project, STATE)
    router.env["PDNS_API_KEY"] = "not-the-key-at-all"
    done = router.shift("spare", 80)
    assert (done.code, done.error["code"]) == (77, "credentials/refused")
    assert "not-the-key-at-all" not in done.out + done.err
    assert document(router.project, STATE) == before


def test_deploy_command_output_never_becomes_dns_server_code(
    tmp_path: Path, pdns: PdnsSite
) -> None:
    made = RealRouter(tmp_path, pdns)
    url = "https://x'}}) .. tostring(os.execute('touch pwned')) .. pickwrandom({{1,'x/"
    answer = made.project.root / "answer.json"
    answer.write_text(json.dumps({"url": url}))
    made.env["FABRIC_CLOUD2_DEPLOY_CMD"] = f"cat {answer}"
    done = made.json("deploy", "--sync-dns")
    assert (done.code, done.error["code"]) == (2, "router/bad-address")
    assert pdns.record_sets(made.name) == []


def test_a_real_name_does_not_lead_to_simulated_endpoints(tmp_path: Path, pdns: PdnsSite) -> None:
    made = RealRouter(tmp_path, pdns)
    assert made.project.json("router", "deploy").code == 0
    done = made.json("dns-sync")
    assert (done.code, done.error["code"]) == (1, "router/simulated-endpoint")
    assert pdns.record_sets(made.name) == []


def test_real_endpoint_health_is_reported(router: RealRouter) -> None:
    rows = router.json("endpoints").result["endpoints"]
    assert {(row["checked"], row["healthy"], row["latencyMs"]) for row in rows} == {
        (True, False, None)
    }
