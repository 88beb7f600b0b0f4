"""How many calls a name costs, and what becomes of it when one of them is lost on its way."""

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest

from fabric.model.problems import FabricError
from fabric.model.routing import Weights
from fabric.router.diff import Drift, drift_of
from fabric.router.routing_warnings import left_over_warnings
from tests.support.dns_sites import Cloud1DnsSite, DnsSite, Edge1DnsSite
from tests.support.servers.edge1.client import Edge1Server
from tests.support.servers.strict_cloud1.client import StrictCloud1

_TWO: Weights = (("main", 70), ("spare", 30))
_SHIFTED: Weights = (("main", 20), ("spare", 80))
_CHECKED = "/health"


@pytest.fixture
def at_cloud1(cloud1: StrictCloud1) -> Iterator[Cloud1DnsSite]:
    site = Cloud1DnsSite(cloud1)
    with contextlib.closing(site.connections):
        yield site


@pytest.fixture
def at_edge1(edge1: Edge1Server) -> Iterator[Edge1DnsSite]:
    site = Edge1DnsSite(edge1)
    with contextlib.closing(site.connections):
        yield site


def look(site: DnsSite, weights: Weights, check: str = "") -> Drift:
    desired = site.desired(weights, check=check)
    backend = site.backend()
    return drift_of(backend.want(desired), backend.read(desired))


def sync(site: DnsSite, weights: Weights, check: str = "") -> None:
    desired = site.desired(weights, check=check)
    backend = site.backend()
    drift = drift_of(backend.want(desired), backend.read(desired))
    backend.apply(desired, drift.actions)


def test_two_calls_tell_that_nothing_changed_at_cloud1(at_cloud1: Cloud1DnsSite) -> None:
    sync(at_cloud1, _TWO)
    at_cloud1.account.reset()
    sync(at_cloud1, _TWO)
    assert sum(at_cloud1.account.calls().values()) == 2


def test_a_shift_is_one_changing_call_at_cloud1(at_cloud1: Cloud1DnsSite) -> None:
    sync(at_cloud1, _TWO, _CHECKED)
    at_cloud1.account.reset()
    sync(at_cloud1, _SHIFTED, _CHECKED)
    changing = {
        name: count
        for name, count in at_cloud1.account.calls().items()
        if not name.startswith(("route53.List", "route53.Get"))
    }
    assert changing == {"route53.ChangeResourceRecordSets": 1}


def test_a_health_check_is_made_once_for_each_endpoint(at_cloud1: Cloud1DnsSite) -> None:
    for weights in (_TWO, _SHIFTED, _TWO):
        sync(at_cloud1, weights, _CHECKED)
    assert at_cloud1.account.calls()["route53.CreateHealthCheck"] == 2
    assert look(at_cloud1, _TWO, _CHECKED).changes == ()


def test_few_calls_tell_that_nothing_changed_at_edge1(at_edge1: Edge1DnsSite) -> None:
    sync(at_edge1, _TWO, _CHECKED)
    at_edge1.account.reset()
    sync(at_edge1, _TWO, _CHECKED)
    assert [method for method, _, _ in at_edge1.account.calls()] == ["GET"] * 4


def test_a_shift_is_one_changing_call_at_edge1(at_edge1: Edge1DnsSite) -> None:
    sync(at_edge1, _TWO, _CHECKED)
    at_edge1.account.reset()
    sync(at_edge1, _SHIFTED, _CHECKED)
    assert at_edge1.account.changes() == {"PUT": 1}


@pytest.mark.parametrize("lost", [{"after": True}, {"half": True}, {"status": 500, "code": 10000}])
@pytest.mark.parametrize("skip", range(7))
def test_an_answer_that_is_lost_makes_nothing_twice(
    at_edge1: Edge1DnsSite, skip: int, lost: dict[str, Any]
) -> None:
    at_edge1.account.fault(skip=skip, **lost)
    sync(at_edge1, _TWO, _CHECKED)
    assert look(at_edge1, _TWO, _CHECKED).changes == ()
    left = at_edge1.things()
    assert {kind: len(rows) for kind, rows in left.items()} == {
        "monitors": 1, "pools": 1, "load_balancers": 1,
    }  # fmt: skip


@pytest.mark.parametrize("skip", range(7))
def test_what_a_refused_call_left_undone_is_done_the_next_time(
    at_edge1: Edge1DnsSite, skip: int
) -> None:
    at_edge1.account.fault(skip=skip, status=403, code=10000, message="no")
    with pytest.raises(FabricError) as caught:
        sync(at_edge1, _TWO, _CHECKED)
    assert caught.value.first.code == "credentials/refused"
    sync(at_edge1, _TWO, _CHECKED)
    assert look(at_edge1, _TWO, _CHECKED).changes == ()
    assert {len(rows) for rows in at_edge1.things().values()} == {1}


def test_an_order_that_is_refused_changes_no_record(at_cloud1: Cloud1DnsSite) -> None:
    sync(at_cloud1, _TWO)
    at_cloud1.account.fault(
        "route53.ChangeResourceRecordSets", status=400, code="InvalidChangeBatch", message="no"
    )
    with pytest.raises(FabricError) as caught:
        sync(at_cloud1, _SHIFTED)
    assert caught.value.first.code == "provider/refused"
    assert look(at_cloud1, _TWO).changes == ()


def test_an_order_whose_answer_is_lost_is_made_again(at_cloud1: Cloud1DnsSite) -> None:
    at_cloud1.account.fault("route53.ChangeResourceRecordSets", after=True)
    sync(at_cloud1, _TWO)
    assert look(at_cloud1, _TWO).changes == ()


def test_a_label_that_is_wanted_no_more_is_told_and_left(at_cloud1: Cloud1DnsSite) -> None:
    sync(at_cloud1, (("main", 50), ("spare", 30), ("third", 20)))
    found = look(at_cloud1, _TWO).actions
    told = left_over_warnings(found, "cloud1")
    assert [one.code for one in told] == ["router/left-over"]
    assert "third" in told[0].message
    sync(at_cloud1, _TWO)
    assert len(look(at_cloud1, _TWO).actions) == 3
