"""What every back end keeps to that a name is kept by, each over a real server or a real file."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from fabric.model.routing.routing import RouterVerb, Weights
from fabric.router.diff import Drift, compute_drift
from tests.support.dns_sites import (
    Cloud1DnsSite,
    DnsSite,
    Edge1DnsSite,
    Edge1PlainSite,
    PdnsDnsSite,
    ZoneFileSite,
)
from tests.support.servers.pdns import zone_server

pytestmark = pytest.mark.sampled

_TWO: Weights = (("main", 70), ("spare", 30))
_BACK_ENDS = ("local", "pdns", "cloud1", "edge1", "edge1-dns")


@pytest.fixture(params=_BACK_ENDS)
def site(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[DnsSite]:
    made = _site(request, tmp_path)
    with contextlib.closing(made.connections):
        yield made


def _site(request: pytest.FixtureRequest, folder: Path) -> DnsSite:
    match request.param:
        case "local":
            return ZoneFileSite(folder)
        case "cloud1":
            return Cloud1DnsSite(request.getfixturevalue("cloud1"))
        case "edge1":
            return Edge1DnsSite(request.getfixturevalue("edge1"))
        case "edge1-dns":
            return Edge1PlainSite(request.getfixturevalue("edge1"))
        case _:
            return PdnsDnsSite(
                request.getfixturevalue("pdns"), request.getfixturevalue("pdns_relay")
            )


def drift(site: DnsSite, weights: Weights = _TWO, ttl: int = 60) -> Drift:
    backend, desired = site.backend(), site.desired(weights, ttl)
    return compute_drift(backend.want(desired), backend.read(desired))


def apply(site: DnsSite, weights: Weights = _TWO, ttl: int = 60) -> None:
    site.backend().apply(site.desired(weights, ttl), drift(site, weights, ttl).actions)


def heaviest(weights: Weights) -> str:
    return max(weights, key=lambda one: one[1])[0]


def test_nothing_is_there_at_first(site: DnsSite) -> None:
    assert {one.action for one in drift(site).actions} == {RouterVerb.CREATE}


def test_applied_records_show_no_drift(site: DnsSite) -> None:
    apply(site)
    assert {one.action for one in drift(site).actions} == {RouterVerb.NO_OP}


@pytest.mark.parametrize(
    "weights",
    [
        (("main", 1), ("spare", 99)),
        (("main", 34), ("spare", 33), ("third", 33)),
        (("main", 97), ("spare", 1), ("third", 2)),
    ],
)
def test_a_shift_is_seen_and_applied(site: DnsSite, weights: Weights) -> None:
    apply(site)
    is_seen = site.tells_weights or heaviest(weights) != heaviest(_TWO)
    assert bool(drift(site, weights).changes) is is_seen
    apply(site, weights)
    assert drift(site, weights).changes == ()


def test_switching_between_one_and_many_endpoints_leaves_no_drift(site: DnsSite) -> None:
    for weights in ((("main", 100),), _TWO, (("main", 100),)):
        apply(site, weights)
        assert drift(site, weights).changes == ()


def test_another_time_to_live_is_a_change(site: DnsSite) -> None:
    """Answers of a proxy have none of ours."""
    apply(site)
    apply(site, ttl=90)
    assert drift(site, ttl=90).changes == ()
    assert bool(drift(site, ttl=60).changes) is (site.backend().kind != "edge1")


def test_manual_change_is_detected_and_repaired(site: DnsSite) -> None:
    apply(site)
    site.bend()
    assert drift(site).changes
    apply(site)
    assert drift(site).changes == ()


def test_foreign_record_at_the_name_is_reported(site: DnsSite) -> None:
    site.take()
    found = drift(site)
    assert [one.is_ours for one in found.foreign] == [False]


def test_foreign_record_beside_ours_is_reported(site: DnsSite) -> None:
    apply(site)
    site.take_beside_ours()
    for weights in (_TWO, (("main", 20), ("spare", 80))):
        assert len(drift(site, weights).foreign) == (1 if site.takes_others else 0)


def test_unrelated_records_are_not_touched_or_reported(site: DnsSite) -> None:
    site.put_beside()
    before = site.everything()
    apply(site)
    apply(site, (("main", 10), ("spare", 90)))
    assert site.everything() == before
    assert not drift(site).foreign
    assert RouterVerb.DELETE_CANDIDATE not in {one.action for one in drift(site).actions}


def test_the_weights_that_are_there_are_known_again(site: DnsSite) -> None:
    apply(site)
    desired = site.desired((("main", 50), ("spare", 50)))
    found = [pair for part in site.backend().read(desired) for pair in part.weights]
    if site.tells_weights:
        assert dict(found) == dict(_TWO)
    else:
        assert heaviest(tuple(found)) == heaviest(_TWO)
        assert drift(site, tuple(found)).changes == ()


def test_a_name_server_reads_the_zone_file(tmp_path: Path) -> None:
    made = ZoneFileSite(tmp_path)
    apply(made)
    folder = tmp_path / "server"
    folder.mkdir()
    with zone_server(folder, "zone.test", tmp_path / "router-zone-dev.zone") as server:
        assert server.answers("api.zone.test", 3) == {"shop.one.example.": 3}
        assert server.services("_https._tcp.api.zone.test") == {
            "1 70 443 shop.one.example.",
            "1 30 443 shop.two.example.",
        }
