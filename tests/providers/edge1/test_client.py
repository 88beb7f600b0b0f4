"""What edge1 refuses, and how that is told: whose, in its own words, and what to do."""

import pytest
from msgspec.structs import replace

from fabric.model.problems import ExitCode, FabricError, Problem
from fabric.providers.core.contract import CallContext
from fabric.providers.core.retry import RetryPolicy
from tests.support.edge1_site import MAX_PARALLEL, Edge1Site
from tests.support.orders import HTTP, trigger
from tests.support.servers.edge1.client import Edge1Server

pytestmark = pytest.mark.slow


def refused(site: Edge1Site, *, env: dict[str, str] | None = None) -> FabricError:
    site.env = {**site.env, **(env or {})}
    with pytest.raises(FabricError) as raised:
        site.up(site.order("hello", HTTP))
    return raised.value


def test_a_token_that_is_not_known_is_77(site: Edge1Site) -> None:
    error = refused(site, env={"EDGE1_API_TOKEN": "tok-other-secret"})
    assert error.exit_code is ExitCode.NO_CREDENTIALS
    assert "10000 Authentication error" in error.first.message
    assert "EDGE1_API_TOKEN" in error.first.hint
    assert "tok-other-secret" not in repr(error.problems)


def test_an_account_that_is_not_known_is_77_and_named(site: Edge1Site) -> None:
    error = refused(site, env={"EDGE1_ACCOUNT_ID": "shop"})
    assert error.exit_code is ExitCode.NO_CREDENTIALS
    assert "7003" in error.first.message
    assert "EDGE1_ACCOUNT_ID" in error.first.hint


def test_a_zone_that_is_not_known_is_77_and_named(site: Edge1Site) -> None:
    site.extension = {"hostname": "shop.example.test"}
    error = refused(site, env={"EDGE1_ZONE_ID": "zone-accother"})
    assert error.exit_code is ExitCode.NO_CREDENTIALS
    assert "EDGE1_ZONE_ID" in error.first.hint


def test_a_host_name_needs_its_zone(site: Edge1Site) -> None:
    site.extension = {"hostname": "shop.example.test"}
    error = refused(site)
    assert (error.first.code, error.exit_code) == (
        "credentials/missing",
        ExitCode.NO_CREDENTIALS,
    )
    assert "EDGE1_ZONE_ID" in error.first.message
    assert site.edge1.calls() == []


def test_missing_credentials_are_all_named_at_once(site: Edge1Site) -> None:
    error = refused(site, env={"EDGE1_API_TOKEN": "", "EDGE1_ACCOUNT_ID": ""})
    assert "`EDGE1_API_TOKEN` and `EDGE1_ACCOUNT_ID`" in error.first.message


def test_unreachable_api_exits_with_69(site: Edge1Site) -> None:
    site.waiting = MAX_PARALLEL
    error = refused(site, env={"EDGE1_API_BASE_URL": "http://127.0.0.1:9/client/v4"})
    assert error.exit_code is ExitCode.UNREACHABLE


def test_html_page_instead_of_an_api_response_is_an_error(site: Edge1Site) -> None:
    site.waiting = MAX_PARALLEL
    error = refused(site, env={"EDGE1_API_BASE_URL": f"{site.edge1.endpoint}/met"})
    assert error.first.code == "provider/refused"
    assert "unexpected response with status 404" in error.first.message


def test_account_without_a_subdomain_is_reported_with_a_hint(site: Edge1Site) -> None:
    site.edge1.subdomain("")
    error = refused(site)
    assert error.first.code == "provider/no-subdomain"
    assert "hostname" in error.first.hint


def test_values_are_never_in_an_error(site: Edge1Site) -> None:
    order = site.order("hello", HTTP, WORD="a-hidden-word", PORT="a-plain-text")
    message = "binding is a-hidden-word"
    site.edge1.fault("scripts/shop-dev-hello$", status=400, code=10021, message=message)
    with pytest.raises(FabricError) as raised:
        site.deploy(replace(order, secret=frozenset(["WORD"])))
    assert "the upload was rejected" in raised.value.first.message
    assert "a-hidden-word" not in repr(raised.value.problems)


def test_a_variable_that_is_too_large_is_refused_before_any_call(site: Edge1Site) -> None:
    with pytest.raises(FabricError) as raised:
        site.deploy(site.order("hello", HTTP, LONG="ä" * 2561, SHORT="x"))
    assert [one.code for one in raised.value.problems] == ["deploy/environment-too-large"]
    assert "`LONG`" in raised.value.first.message
    assert site.edge1.calls() == []
    site.deploy(site.order("hello", HTTP, LONG="ä" * 2560))


def test_more_variables_than_edge1_takes_are_refused_before_any_call(site: Edge1Site) -> None:
    with pytest.raises(FabricError) as raised:
        site.deploy(site.order("hello", HTTP, **{f"V{n}": "x" for n in range(129)}))
    assert raised.value.first.code == "deploy/environment-too-large"
    assert site.edge1.calls() == []


def test_foreign_route_is_not_modified(site: Edge1Site, edge1: Edge1Server) -> None:
    other = Edge1Site(edge1, site.folder, service="other")
    other.up(other.order("x", HTTP))
    routes = f"/zones/{edge1.zone}/workers/routes"
    edge1.api("POST", routes, {"pattern": "shop.example.test/*", "script": "other-dev"})
    edge1.api("POST", routes, {"pattern": "b.example.test/*", "script": "other-dev"})
    site.extension = {"hostname": "shop.example.test"}
    error = refused(site, env={"EDGE1_ZONE_ID": edge1.zone})
    assert error.first.code == "deploy/foreign"
    assert "`other-dev`" in error.first.message
    site.dissolve()
    assert edge1.left()["routes"] == ["b.example.test/*", "shop.example.test/*"]
    other.close()


def test_a_service_moves_between_its_host_name_and_the_accounts_domain(site: Edge1Site) -> None:
    site.env = {"EDGE1_ZONE_ID": site.edge1.zone}
    order = site.order("hello", HTTP)
    below = site.up(order).endpoint
    site.extension = {"hostname": "shop.example.test"}
    assert site.up(order).endpoint == "https://shop.example.test"
    assert site.edge1.at_host("shop.example.test", "/hello").text == "one"
    assert site.edge1.http("GET", below + "/hello").status == 404
    site.extension = {"hostname": "b.example.test"}
    site.up(order)
    assert site.edge1.left()["routes"] == ["b.example.test/*"]
    site.extension = {}
    site.up(order)
    assert "routes" not in site.edge1.left()
    assert site.said() == "one"


def test_route_is_removed_even_if_the_zone_is_no_longer_configured(site: Edge1Site) -> None:
    site.env = {"EDGE1_ZONE_ID": site.edge1.zone}
    site.extension = {"hostname": "shop.example.test"}
    site.up(site.order("hello", HTTP))
    site.env, site.extension = {}, {}
    site.dissolve()
    assert site.edge1.left() == {}


def test_unrelated_zone_id_is_ignored(site: Edge1Site) -> None:
    site.env = {"EDGE1_ZONE_ID": "zone-of-others"}
    site.up(site.order("hello", HTTP))
    site.up(site.order("hello", HTTP), force=True)
    assert any("zone-of-others" in one for one in site.talk)
    site.dissolve()
    assert site.edge1.left() == {}


def test_rate_limit_waits_for_retry_after(site: Edge1Site) -> None:
    pauses: list[float] = []
    site.waiting = RetryPolicy(base=0.001, cap=0.01, most=0.5, sleep=pauses.append)
    site.edge1.throttle(quota=5, left=5, seconds=7)
    site.up(site.order("hello", HTTP))
    assert site.said() == "one"
    assert "Cloudflare: rate limit reached, waiting 7 s" in site.talk
    assert 7 <= sum(pauses) < 60
    assert [status for _, _, status in site.edge1.calls()].count(429) == 1


def test_calls_are_spread_when_few_are_left(site: Edge1Site) -> None:
    pauses: list[float] = []
    site.waiting = RetryPolicy(sleep=pauses.append)
    site.edge1.throttle(quota=1200, left=100, seconds=300)
    site.up(site.order("hello", HTTP))
    assert sum(pauses) > 10
    assert 429 not in [status for _, _, status in site.edge1.calls()]


def test_a_stop_ends_a_wait(site: Edge1Site) -> None:
    site.edge1.throttle(quota=5, left=0, seconds=200)
    order = site.order("hello", HTTP)
    with pytest.raises(FabricError) as raised:
        site.deployer.deploy(site.address(), [order], CallContext(is_to_end=lambda: True))
    assert raised.value.first.code == "provider/interrupted"


def test_a_redirect_is_not_followed(site: Edge1Site) -> None:
    headers = {"location": "https://elsewhere.test/"}
    site.edge1.fault("versions", status=302, code=0, headers=headers)
    error = refused(site)
    assert error.first.code == "provider/refused"
    assert "GET /accounts" in error.first.message


def test_doctor_reports_the_token_account(site: Edge1Site) -> None:
    who = site.deployer.identity(site.address())
    assert site.edge1.account in who
    assert "probe.workers.dev" in who
    site.env = {"EDGE1_API_TOKEN": "tok-none"}
    with pytest.raises(FabricError) as raised:
        site.deployer.identity(site.address())
    assert raised.value.first.code == "credentials/refused"


def test_a_setting_of_another_type_is_named(site: Edge1Site) -> None:
    site.extension = {"hostname": 3}
    with pytest.raises(FabricError) as raised:
        _ = site.deployer
    assert raised.value.first.code == "config/type"
    assert "hostname" in raised.value.first.message


def refused_at(site: Edge1Site, path: str, **fault: object) -> Problem:
    site.edge1.fault(path, status=400, code=10999, message="not this one", **fault)
    with pytest.raises(FabricError) as raised:
        site.up(site.order("hello", HTTP, trigger("cron", schedule="rate(1 hour)")))
    assert "not this one" in raised.value.first.message
    return raised.value.first


@pytest.mark.parametrize(
    ("path", "whose"),
    [
        ("shop-dev-hello/schedules", "function `hello`, its schedules (`0 * * * *`)"),
        ("scripts/shop-dev$", "the front Worker `shop-dev` of `shop`"),
        ("scripts/shop-dev/subdomain", "the address of the front Worker `shop-dev`"),
    ],
)
def test_release_error_names_its_subject(site: Edge1Site, path: str, whose: str) -> None:
    assert refused_at(site, path, changing=True).message.startswith(f"{whose}: ")


def test_an_error_of_a_cut_over_names_its_function(site: Edge1Site) -> None:
    site.up(site.order("hello", HTTP), site.order("bye"))
    site.edge1.fault("bye/deployments", status=400, code=10999, message="not this one")
    with pytest.raises(FabricError) as raised:
        site.up(site.order("hello", HTTP), site.order("bye", word="two"))
    assert raised.value.first.message.startswith("function `bye`: ")


def test_an_error_of_a_route_names_its_host(site: Edge1Site) -> None:
    site.env = {"EDGE1_ZONE_ID": site.edge1.zone}
    site.extension = {"hostname": "shop.example.test"}
    problem = refused_at(site, "workers/routes", method="POST")
    assert problem.message.startswith(
        "the route `shop.example.test/*` to the front Worker `shop-dev`: "
    )


def test_the_date_of_the_runtime_can_be_chosen(site: Edge1Site) -> None:
    site.up(site.order("hello", HTTP))
    site.extension = {"compatibilityDate": "2026-02-03"}
    site.up(site.order("hello", HTTP))
    assert site.edge1.versions() == {"shop-dev": 2, "shop-dev-hello": 2}
    path = f"/accounts/{site.edge1.account}/workers/scripts/shop-dev-hello/versions"
    ident = site.live("hello").resource_id.partition("@")[2]
    shown = site.edge1.api("GET", f"{path}/{ident}")
    assert shown["resources"]["script_runtime"]["compatibility_date"] == "2026-02-03"


def test_answers_that_are_lost_on_the_way_are_made_good_by_the_same_run(site: Edge1Site) -> None:
    site.edge1.fault("", after=True, times=1, changing=True)
    site.edge1.fault("", after=True, times=1, changing=True, skip=2)
    site.edge1.fault("", half=True, times=1, changing=True, skip=1)
    site.up(
        site.order("hello", HTTP, trigger("cron", schedule="rate(5 minutes)")), site.order("bye")
    )
    assert site.said() == "one"
    assert site.edge1.versions() == {"shop-dev": 1, "shop-dev-bye": 1, "shop-dev-hello": 1}


def test_token_is_never_sent_over_plain_http(site: Edge1Site) -> None:
    error = refused(site, env={"EDGE1_API_BASE_URL": "http://192.0.2.1/v4"})
    assert error.first.code == "credentials/plain-endpoint"
    assert "EDGE1_API_BASE_URL" in error.first.message
