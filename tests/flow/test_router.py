"""Names that are really answered: shifted while somebody asks, killed, and overtaken."""

import json
import subprocess
import threading
from pathlib import Path

import pytest

from tests.support.project import Done, ended, environment, project, started
from tests.support.router_project import (
    LABELS,
    SOURCES,
    STATE,
    commands,
    config_of,
    document,
    weights,
)
from tests.support.servers.edge1.client import Edge1Server
from tests.support.servers.pdns import PdnsSite
from tests.support.until import until

_HOSTS = {
    "CLOUD1": "https://one.shop.example",
    "CLOUD2": "https://two.shop.example",
    "HOST3": "https://three.shop.example",
}
_OF_LABEL = dict(
    zip(LABELS, ("one.shop.example.", "two.shop.example.", "three.shop.example."), strict=True)
)
_ASKED = 10_000


class RealRouter:
    """A project whose targets are deployed by commands, and whose name PowerDNS keeps."""

    def __init__(self, folder: Path, pdns: PdnsSite) -> None:
        self.pdns = pdns
        self.name = f"api.{pdns.zone}"
        router = f"{{hostname: {self.name.rstrip('.')}, provider: pdns}}"
        self.project = project(folder, config_of(router), SOURCES)
        self.env = {**pdns.environment, **commands(_HOSTS)}

    def json(self, *words: str) -> Done:
        return self.project.json("router", *words, env=self.env)

    def shift(self, label: str, percent: int) -> Done:
        return self.json("dns-shift", "--provider", label, "--percent", str(percent))

    def start(self, *words: str) -> subprocess.Popen[str]:
        env = environment(self.project.home, self.env)
        return started(("router", *words, "--json"), self.project.root, env)


@pytest.fixture
def router(tmp_path: Path, pdns: PdnsSite) -> RealRouter:
    made = RealRouter(tmp_path, pdns)
    done = made.json("deploy", "--sync-dns")
    assert done.code == 0, done.out
    return made


def shares(router: RealRouter) -> dict[str, float]:
    found = router.pdns.answers(router.name, _ASKED)
    assert sum(found.values()) == _ASKED
    return {label: 100 * found[host] / _ASKED for label, host in _OF_LABEL.items()}


@pytest.mark.slow
def test_answers_follow_the_weights(router: RealRouter) -> None:
    for label, percent in (("spare", 70), ("third", 5)):
        assert router.shift(label, percent).code == 0
        wanted = weights(router.project)
        for one, share in shares(router).items():
            assert abs(share - wanted[one]) <= 2, (one, share, wanted)


@pytest.mark.slow
def test_no_question_goes_without_an_answer_while_shares_shift(router: RealRouter) -> None:
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


def test_two_who_shift_at_once_follow_each_other(router: RealRouter) -> None:
    words = ("dns-shift", "--lock-timeout", "60s", "--provider")
    running = [router.start(*words, label, "--percent", "40") for label in ("spare", "third")]
    done = [ended(one) for one in running]
    assert [one.code for one in done] == [0, 0]
    now = weights(router.project)
    assert sum(now.values()) == 100
    assert 40 in (now["spare"], now["third"])
    assert not router.json("dns-reconcile").result["summary"]["driftDetected"]
    entries = router.json("dns-history").result["entries"]
    assert entries[0]["before"] == entries[1]["after"]


@pytest.mark.parametrize("calls", range(1, 9))
def test_a_sync_that_is_killed_at_some_call_is_ended_by_the_next(
    tmp_path: Path, edge1: Edge1Server, calls: int
) -> None:
    router = "{hostname: api.example.test}"
    text = config_of(router).replace("routing: round-robin", "healthCheck: {enabled: true}")
    made = project(tmp_path, text, SOURCES)
    env = {**edge1.environment, **commands(_HOSTS)}
    env |= {"EDGE1_ZONE_ID": edge1.zone, "FABRIC_REAL_DEPLOY": "1"}
    assert made.json("router", "deploy", env=env).code == 0
    edge1.reset()
    child = made.start("router", "dns-sync", env=env)
    until(lambda: len(edge1.calls()) >= calls or child.poll() is not None)
    child.kill()
    child.communicate()
    shifted = ("router", "dns-shift", "--provider", "spare", "--percent", "80")
    assert made.json(*shifted, env=env).result["weights"]["spare"] == 80
    assert not made.json("router", "dns-reconcile", env=env).result["summary"]["driftDetected"]
    below = f"/accounts/{edge1.account}/load_balancers"
    for path in (f"{below}/monitors", f"{below}/pools", f"/zones/{edge1.zone}/load_balancers"):
        assert len(edge1.api("GET", path)) == 1


def test_a_hand_in_the_zone_is_told_and_mended(router: RealRouter) -> None:
    (found,) = router.pdns.record_sets(router.name)
    found["records"][0]["content"] = found["records"][0]["content"].replace("one.", "away.")
    router.pdns.set_records(found)
    assert router.json("dns-reconcile").result["summary"]["update"] == 1
    assert router.json("dns-reconcile", "--apply").code == 0
    assert "away." not in json.dumps(router.pdns.record_sets(router.name))


def test_without_a_key_the_name_is_kept_in_a_file_and_that_is_said(
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


def test_a_real_name_does_not_lead_to_simulated_endpoints(tmp_path: Path, pdns: PdnsSite) -> None:
    made = RealRouter(tmp_path, pdns)
    assert made.project.json("router", "deploy").code == 0
    done = made.json("dns-sync")
    assert (done.code, done.error["code"]) == (1, "router/simulated-endpoint")
    assert pdns.record_sets(made.name) == []


def test_real_endpoints_are_asked_how_they_are(router: RealRouter) -> None:
    rows = router.json("endpoints").result["endpoints"]
    assert {(row["checked"], row["healthy"], row["latencyMs"]) for row in rows} == {
        (True, False, None)
    }
