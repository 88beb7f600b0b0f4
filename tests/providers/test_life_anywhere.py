"""What every provider that fabric deploys to itself does, from the first deploy to the last
removal."""

import pytest
from msgspec.structs import replace

from fabric.model.problems import UntouchedError
from fabric.testing.rules import RULES, Rule
from tests.support.orders import HTTP, trigger
from tests.support.service_site import BYE, ServiceSite

pytestmark = pytest.mark.slow

# Whoever looks into an archive there is the platform, once it has it.
_TAKES_ANY_ARCHIVE = ("cloud1-lambda", "cluster-orchestrator")


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__.removeprefix("check_"))
def test_the_rule_for_providers_holds(rule: Rule, any_site: ServiceSite) -> None:
    rule(any_site)


def test_rollback_to_a_previous_version_serves_it(any_site: ServiceSite) -> None:
    site = any_site
    site.up(*site.both())
    then = site.live("hello").resource_id
    site.up(*site.both("two"))
    hello, bye = site.both()
    site.up(replace(hello, version=then), bye)
    assert (site.said(), site.said("/bye")) == ("one", "bye")


def test_rollback_to_a_deleted_version_is_rebuilt_from_the_archive(
    any_site: ServiceSite,
) -> None:
    site = any_site
    site.up(*site.both())
    then = site.live("hello")
    site.up(*site.both("two"))
    site.lose_version(then)
    hello, bye = site.both()
    site.up(replace(hello, version=then.resource_id), bye, force=True)
    assert (site.said(), site.said("/bye")) == ("one", "bye")


def test_an_archive_without_its_module_is_refused_before_anything_is_changed(
    any_site: ServiceSite,
) -> None:
    site = any_site
    if site.provider in _TAKES_ANY_ARCHIVE:
        return
    order = site.order("hello", HTTP)
    with pytest.raises(UntouchedError) as raised:
        site.deploy(replace(order, artifact=replace(order.artifact, handler="elsewhere.handler")))
    assert "`elsewhere`" in raised.value.first.message
    assert raised.value.first.hint
    assert site.changes() == 0


def test_removed_function_is_deleted_with_its_triggers(any_site: ServiceSite) -> None:
    site = any_site
    site.up(site.order("bye", BYE, word="bye"))
    before = site.left()
    site.up(*site.both())
    site.destroy("hello")
    site.up(site.order("bye", BYE, word="bye"))
    assert site.left() == before
    assert (site.said("/bye"), site.said()) == ("bye", "404")


def test_a_service_can_be_dissolved_twice(any_site: ServiceSite) -> None:
    site = any_site
    site.up(*site.full_orders())
    assert site.left()
    site.dissolve()
    assert not site.left()
    site.dissolve()
    assert not site.left()


def test_cors_follows_the_trigger(any_site: ServiceSite) -> None:
    site = any_site
    page, other = "https://page.test", "https://other.test"
    cors = {"origin": page, "allowMethods": ["POST"], "credentials": True, "maxAge": 60}
    site.up(site.order("hello", trigger("http", method="POST", path="/hello", cors=cors)))
    before = site.asked("OPTIONS", "/hello", origin=page, access_control_request_method="POST")
    assert before.status == 204
    assert before.headers["access-control-allow-origin"] == page
    assert before.headers["access-control-allow-methods"] == "POST"
    assert before.headers["access-control-max-age"] == "60"
    after = site.asked("POST", "/hello", origin=page)
    assert (after.text, after.headers["access-control-allow-credentials"]) == ("one", "true")
    assert "access-control-allow-origin" not in site.asked("POST", "/hello", origin=other).headers


def test_route_without_cors_sends_no_cors_headers(any_site: ServiceSite) -> None:
    site = any_site
    site.up(site.order("hello", trigger("http", method="GET", path="/hello", cors=True)))
    origin = "https://page.test"
    assert site.asked("GET", "/hello", origin=origin).headers["access-control-allow-origin"] == "*"
    site.up(site.order("hello", HTTP))
    answer = site.asked("GET", "/hello", origin=origin)
    assert answer.text == "one"
    assert "access-control-allow-origin" not in answer.headers
