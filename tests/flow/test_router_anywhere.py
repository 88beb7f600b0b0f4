"""Whoever keeps the name: a sync that was killed is ended, and two who shift follow each other."""

import contextlib
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.dns_sites import (
    Cloud1DnsSite,
    Edge1DnsSite,
    Edge1PlainSite,
    KeptNameSite,
    PdnsDnsSite,
)
from tests.support.in_process import project
from tests.support.project import ended, environment, started
from tests.support.router_project import SOURCES, commands, config_of, weights
from tests.support.until import until

# Each target is deployed by a command.
_TARGETS = {
    "CLOUD1": "https://one.shop.example",
    "CLOUD2": "https://two.shop.example",
    "HOST3": "https://three.shop.example",
}
# What is there for a name with three endpoints whose health is asked, and how many calls make it.
_WHOLE = {
    "cloud1": ({"sets": 3, "checks": 3}, 10),
    "edge1": ({"monitors": 1, "pools": 1, "load_balancers": 1}, 15),
    "edge1-dns": ({"records": 1}, 4),
    "pdns": ({"sets": 1}, 5),
}
_ANYWHERE = tuple(_WHOLE)
_CALLS = [(kind, calls) for kind, (_, most) in _WHOLE.items() for calls in range(1, most + 1)]


class RoutedService:
    def __init__(self, folder: Path, site: KeptNameSite) -> None:
        text = config_of(f"{{hostname: {site.hostname}, provider: {site.provider}}}")
        text = text.replace("routing: round-robin", "healthCheck: {enabled: true}")
        self.site = site
        self.project = project(folder, text, SOURCES)
        self.env = {**site.environment, **commands(_TARGETS), "FABRIC_REAL_DEPLOY": "1"}
        self.ran("deploy")

    def ran(self, *words: str) -> dict[str, Any]:
        done = self.project.json("router", *words, env=self.env)
        assert done.code == 0, done.out
        return done.result

    def start(self, *words: str) -> subprocess.Popen[str]:
        env = environment(self.project.home, self.env)
        return started(("router", *words, "--json"), self.project.root, env)


@pytest.fixture
def routed(request: pytest.FixtureRequest, kind: str, tmp_path: Path) -> Iterator[RoutedService]:
    site = _site(request, kind)
    with contextlib.closing(site.connections):
        yield RoutedService(tmp_path, site)


def _site(request: pytest.FixtureRequest, kind: str) -> KeptNameSite:
    match kind:
        case "cloud1":
            return Cloud1DnsSite(request.getfixturevalue("cloud1"))
        case "edge1":
            return Edge1DnsSite(request.getfixturevalue("edge1"))
        case "edge1-dns":
            return Edge1PlainSite(request.getfixturevalue("edge1"))
        case _:
            servers = (request.getfixturevalue(name) for name in ("pdns", "pdns_relay"))
            return PdnsDnsSite(*servers)


@pytest.mark.slow
@pytest.mark.sampled
@pytest.mark.parametrize(("kind", "calls"), _CALLS)
def test_a_sync_that_is_killed_at_some_call_is_ended_by_the_next(
    routed: RoutedService, kind: str, calls: int
) -> None:
    site = routed.site
    site.reset()
    child = routed.start("dns-sync")
    until(lambda: site.asked() >= calls or child.poll() is not None)
    child.kill()
    child.communicate()
    assert (
        routed.ran("dns-shift", "--provider", "spare", "--percent", "80")["weights"]["spare"] == 80
    )
    assert not routed.ran("dns-reconcile")["summary"]["driftDetected"]
    assert site.there() == _WHOLE[kind][0]


@pytest.mark.parametrize("kind", _ANYWHERE)
def test_two_simultaneous_shifts_run_one_after_the_other(routed: RoutedService) -> None:
    routed.ran("dns-sync")
    words = ("dns-shift", "--lock-timeout", "60s", "--provider")
    running = [routed.start(*words, label, "--percent", "40") for label in ("spare", "third")]
    done = [ended(one) for one in running]
    assert [one.code for one in done] == [0, 0]
    now = weights(routed.project)
    assert sum(now.values()) == 100
    assert 40 in (now["spare"], now["third"])
    assert not routed.ran("dns-reconcile")["summary"]["driftDetected"]
    entries = routed.ran("dns-history")["entries"]
    assert entries[0]["before"] == entries[1]["after"]


@pytest.mark.parametrize("kind", _ANYWHERE)
def test_previously_routed_name_is_reported_as_delete_candidate(routed: RoutedService) -> None:
    """What leads there still is ours, and is never deleted."""
    routed.ran("dns-sync")
    config = routed.project.root / "fabric.yml"
    before = routed.site.hostname
    config.write_text(config.read_text().replace(before, f"new-{before}"))
    routed.ran("dns-sync")
    said = routed.ran("dns-sync")
    told = [one for one in said["actions"] if one["action"] == "delete-candidate"]
    assert {one["name"].split(" ")[0].rstrip(".") for one in told} == {before}
    assert not [one for one in said["actions"] if one["action"] in ("create", "update")]


@pytest.mark.parametrize("kind", ["edge1-dns"])
def test_name_without_weights_is_routed_to_the_largest_share(routed: RoutedService) -> None:
    routed.ran("dns-sync")
    shift = ("router", "dns-shift", "--provider", "spare", "--percent")
    told = []
    for percent in ("60", "80", "20", "70"):
        done = routed.project.json(*shift, percent, env=routed.env)
        told.append(done.err)
    assert ["router/unseen-shift" in one for one in told] == [False, True, False, False]
    assert all("router/no-weights" in one for one in told)
    assert isinstance(routed.site, Edge1PlainSite)
    assert [one["content"] for one in routed.site.records()] == ["two.shop.example"]
    (routed.project.root / ".fabric" / "fabric-state-dev.json").unlink()
    (routed.project.root / ".fabric" / "router-sync-dev.json").unlink()
    # A machine that knows nothing more leaves the name where it leads.
    assert not routed.ran("dns-reconcile")["summary"]["driftDetected"]
