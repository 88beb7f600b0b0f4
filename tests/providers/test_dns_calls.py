"""How many calls a name costs, and what becomes of it when one of them is lost on its way."""

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest
from msgspec.structs import replace

from fabric.model.problems import FabricError
from fabric.model.routing.routing import RouterVerb, Weights
from fabric.router.diff import Drift, compute_drift
from fabric.router.routing_warnings import list_leftover_warnings
from tests.support.dns_sites import (
    Cloud1DnsSite,
    DnsSite,
    Edge1DnsSite,
    Edge1PlainSite,
    PdnsDnsSite,
)
from tests.support.servers.edge1.client import Edge1Server
from tests.support.servers.pdns import PdnsSite
from tests.support.servers.relay import Relay
from tests.support.servers.strict_cloud1.client import StrictCloud1
from tests.support.service_site import LostAnswer

pytestmark = pytest.mark.sampled

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


@pytest.fixture
def without_account(edge1: Edge1Server) -> Iterator[Edge1PlainSite]:
    site = Edge1PlainSite(edge1)
    with contextlib.closing(site.connections):
        yield site


@pytest.fixture
def at_pdns(pdns: PdnsSite, pdns_relay: Relay) -> Iterator[PdnsDnsSite]:
    site = PdnsDnsSite(pdns, pdns_relay)
    with contextlib.closing(site.connections):
        yield site


def look(site: DnsSite, weights: Weights, check: str = "") -> Drift:
    desired = site.desired(weights, check=check)
    backend = site.backend()
    return compute_drift(backend.want(desired), backend.read(desired))


def sync(site: DnsSite, weights: Weights, check: str = "") -> None:
    desired = site.desired(weights, check=check)
    backend = site.backend()
    drift = compute_drift(backend.want(desired), backend.read(desired))
    backend.apply(desired, drift.actions)


def test_unchanged_cloud1_routing_takes_two_calls(at_cloud1: Cloud1DnsSite) -> None:
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


def test_unchanged_edge1_routing_takes_four_calls(at_edge1: Edge1DnsSite) -> None:
    sync(at_edge1, _TWO, _CHECKED)
    at_edge1.account.reset()
    sync(at_edge1, _TWO, _CHECKED)
    assert [method for method, _, _ in at_edge1.account.calls()] == ["GET"] * 4


def test_a_shift_is_one_changing_call_at_edge1(at_edge1: Edge1DnsSite) -> None:
    sync(at_edge1, _TWO, _CHECKED)
    at_edge1.account.reset()
    sync(at_edge1, _SHIFTED, _CHECKED)
    assert at_edge1.account.changes() == {"PUT": 1}


def test_any_manual_edge1_setting_change_is_detected_and_repaired(
    at_edge1: Edge1DnsSite,
) -> None:
    sync(at_edge1, _TWO, _CHECKED)
    for bend in at_edge1.bend_settings():
        bend()
        (change,) = look(at_edge1, _TWO, _CHECKED).changes
        assert change.action is RouterVerb.UPDATE
        sync(at_edge1, _TWO, _CHECKED)
        assert look(at_edge1, _TWO, _CHECKED).changes == ()


@pytest.mark.parametrize(
    "change", [{"ResourcePath": "/other"}, {"Inverted": True}, {"FailureThreshold": 9}]
)
def test_manual_cloud1_health_check_change_is_detected_and_repaired(
    at_cloud1: Cloud1DnsSite, change: dict[str, Any]
) -> None:
    sync(at_cloud1, _TWO, _CHECKED)
    client = at_cloud1.account.client("route53")
    first = client.list_health_checks()["HealthChecks"][0]
    client.update_health_check(HealthCheckId=first["Id"], **change)
    (seen,) = look(at_cloud1, _TWO, _CHECKED).changes
    assert seen.action is RouterVerb.UPDATE
    sync(at_cloud1, _TWO, _CHECKED)
    assert look(at_cloud1, _TWO, _CHECKED).changes == ()
    assert at_cloud1.there()["checks"] == 2


def test_outdated_cloud1_health_check_is_reported_and_not_deleted(at_cloud1: Cloud1DnsSite) -> None:
    sync(at_cloud1, _TWO, _CHECKED)
    sync(at_cloud1, _TWO, "/other")
    drift = look(at_cloud1, _TWO, "/other")
    assert drift.changes == ()
    left = [one for one in drift.actions if one.action is RouterVerb.DELETE_CANDIDATE]
    assert {str(one.resource) for one in left} == {"lb_monitor"}
    assert sorted(one.detail for one in left) == [
        "checks shop.one.example at /health", "checks shop.two.example at /health",
    ]  # fmt: skip
    assert list_leftover_warnings(drift.actions, "cloud1") == ()
    assert at_cloud1.there()["checks"] == 4


def test_endpoint_with_a_base_path_is_health_checked_below_it(
    at_cloud1: Cloud1DnsSite, at_edge1: Edge1DnsSite
) -> None:
    for site in (at_cloud1, at_edge1):
        desired = site.desired((("main", 100),), check=_CHECKED)
        share = replace(desired.shares[0], url="https://shop.one.example/prod")
        desired = replace(desired, shares=(share,))
        backend = site.backend()
        actions = compute_drift(backend.want(desired), backend.read(desired)).actions
        backend.apply(desired, actions)
    (check,) = at_cloud1.account.client("route53").list_health_checks()["HealthChecks"]
    assert check["HealthCheckConfig"]["ResourcePath"] == "/prod/health"
    assert at_edge1.things()["monitors"][0]["path"] == "/prod/health"


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
def test_sync_after_a_refused_call_completes_the_change(at_edge1: Edge1DnsSite, skip: int) -> None:
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


def test_change_with_a_lost_reply_is_retried(at_cloud1: Cloud1DnsSite) -> None:
    at_cloud1.account.fault("route53.ChangeResourceRecordSets", after=True)
    sync(at_cloud1, _TWO)
    assert look(at_cloud1, _TWO).changes == ()


def test_unused_label_is_reported_and_not_deleted(at_cloud1: Cloud1DnsSite) -> None:
    sync(at_cloud1, (("main", 50), ("spare", 30), ("third", 20)))
    found = look(at_cloud1, _TWO).actions
    told = list_leftover_warnings(found, "cloud1")
    assert [one.code for one in told] == ["router/left-over"]
    assert "third" in told[0].message
    sync(at_cloud1, _TWO)
    assert len(look(at_cloud1, _TWO).actions) == 3


def test_unchanged_pdns_routing_takes_one_call(at_pdns: PdnsDnsSite, pdns_relay: Relay) -> None:
    sync(at_pdns, _TWO)
    pdns_relay.reset()
    sync(at_pdns, _TWO)
    assert pdns_relay.calls == ["GET"]


def test_a_shift_is_one_changing_call_at_pdns(at_pdns: PdnsDnsSite, pdns_relay: Relay) -> None:
    sync(at_pdns, _TWO)
    pdns_relay.reset()
    sync(at_pdns, _SHIFTED)
    assert pdns_relay.calls == ["GET", "GET", "PATCH"]


def test_apex_name_is_refused_at_pdns(at_pdns: PdnsDnsSite) -> None:
    at_pdns.hostname = at_pdns.hostname.partition(".")[2]
    with pytest.raises(FabricError) as caught:
        look(at_pdns, _TWO)
    assert caught.value.first.code == "router/apex"
    assert f"`api.{at_pdns.hostname}`" in caught.value.first.hint


def test_record_added_since_the_read_is_preserved_at_pdns(at_pdns: PdnsDnsSite) -> None:
    desired, backend = at_pdns.desired(_TWO), at_pdns.backend()
    actions = compute_drift(backend.want(desired), backend.read(desired)).actions
    at_pdns.take()
    with pytest.raises(FabricError) as caught:
        backend.apply(desired, actions)
    assert caught.value.first.code == "router/foreign"
    assert "somebody.example" in caught.value.first.message
    assert [one.is_ours for one in backend.read(desired)] == [False]


@pytest.mark.parametrize("lost", LostAnswer)
@pytest.mark.parametrize("skip", range(3))
def test_lost_pdns_reply_still_results_in_the_desired_record(
    at_pdns: PdnsDnsSite, pdns_relay: Relay, skip: int, lost: LostAnswer
) -> None:
    sync(at_pdns, (("main", 100),))
    pdns_relay.reset()
    pdns_relay.lose(lost, skip)
    sync(at_pdns, _TWO)
    assert pdns_relay.way is None
    assert look(at_pdns, _TWO).changes == ()
    assert len(look(at_pdns, _TWO).actions) == 1


_ANSWERS = [{}, {"after": True}, {"half": True}, {"status": 500}]


# With two checks it takes seven calls, of which the last sees that it is done.
@pytest.mark.parametrize("lost", _ANSWERS, ids=["before", "after", "half", "error"])
@pytest.mark.parametrize("skip", range(7))
def test_whichever_answer_of_cloud1_is_lost_nothing_is_made_twice(
    at_cloud1: Cloud1DnsSite, skip: int, lost: dict[str, Any]
) -> None:
    at_cloud1.account.fault("*", skip=skip, **lost)
    if "half" in lost:
        # The client asks again by itself, but for an answer that breaks off.
        with pytest.raises(FabricError) as caught:
            sync(at_cloud1, _TWO, _CHECKED)
        assert caught.value.first.code == "provider/unreachable"
        sync(at_cloud1, _TWO, _CHECKED)
    else:
        sync(at_cloud1, _TWO, _CHECKED)
    assert any(status in {0, 500} for _, status in at_cloud1.account.answers())
    at_cloud1.account.reset()
    assert {one.action for one in look(at_cloud1, _TWO, _CHECKED).actions} == {RouterVerb.NO_OP}
    checks = at_cloud1.account.client("route53").list_health_checks()["HealthChecks"]
    assert len(checks) == 2


def test_unchanged_edge1_zone_takes_one_call(
    without_account: Edge1PlainSite,
) -> None:
    sync(without_account, _TWO)
    without_account.account.reset()
    sync(without_account, _TWO)
    sync(without_account, (("main", 60), ("spare", 40)))
    assert [method for method, _, _ in without_account.account.calls()] == ["GET"] * 2


def test_name_is_repointed_with_one_batch_call(without_account: Edge1PlainSite) -> None:
    sync(without_account, _TWO)
    without_account.account.reset()
    sync(without_account, _SHIFTED)
    assert without_account.account.changes() == {"POST": 1}
    (found,) = without_account.records()
    assert found["content"] == "shop.two.example"
    assert found["comment"] == "managed-by fabric shop/dev"
    assert found["proxied"] is False


@pytest.mark.parametrize("before", [(), _SHIFTED])
@pytest.mark.parametrize("lost", [{}, {"after": True}, {"half": True}, {"status": 500}])
@pytest.mark.parametrize("skip", range(2))
def test_whichever_answer_about_a_zone_is_lost_there_is_one_record(
    without_account: Edge1PlainSite, skip: int, lost: dict[str, Any], before: Weights
) -> None:
    if before:
        sync(without_account, before)
    without_account.account.reset()
    without_account.account.fault(skip=skip, **lost)
    sync(without_account, _TWO)
    assert look(without_account, _TWO).changes == ()
    assert [one["content"] for one in without_account.records()] == ["shop.one.example"]


def test_switching_to_load_balancing_reports_the_leftover_record(
    without_account: Edge1PlainSite, at_edge1: Edge1DnsSite
) -> None:
    sync(without_account, _TWO)
    sync(at_edge1, _TWO)
    left = [one for one in look(at_edge1, _TWO).actions if one.action is not RouterVerb.NO_OP]
    assert [(one.action, one.name) for one in left] == [
        (RouterVerb.DELETE_CANDIDATE, at_edge1.hostname)
    ]


def test_previous_hostname_is_reported_and_not_deleted(without_account: Edge1PlainSite) -> None:
    sync(without_account, _TWO)
    without_account.hostname = "shop.example.test"
    sync(without_account, _TWO)
    left = [one for one in look(without_account, _TWO).actions if one.name == "api.example.test"]
    assert [one.action for one in left] == [RouterVerb.DELETE_CANDIDATE]
    assert len(without_account.records()) == 2


def test_long_names_of_stages_have_room_in_a_comment(without_account: Edge1PlainSite) -> None:
    desired = without_account.desired(_TWO)
    backend = without_account.backend()
    for owner in ("s" * 63 + "/" + "t" * 63, "s" * 63 + "/" + "u" * 63):
        own = replace(desired, owner=owner, hostname=f"{owner[-1]}.example.test")
        backend.apply(own, compute_drift(backend.want(own), backend.read(own)).actions)
        assert [
            one.action for one in compute_drift(backend.want(own), backend.read(own)).actions
        ] == [RouterVerb.NO_OP]


def test_token_without_dns_edit_permission_is_reported(without_account: Edge1PlainSite) -> None:
    without_account.account.fault("batch$", status=403, code=10000, message="no")
    with pytest.raises(FabricError) as caught:
        sync(without_account, _TWO)
    assert caught.value.first.code == "credentials/refused"
    assert "edit DNS of the zone" in caught.value.first.hint
