"""What every provider that fabric deploys to itself does, from the first deploy to the last
removal."""

import pytest
from msgspec.structs import replace

from fabric.model.problems import UntouchedError
from tests.support.orders import HTTP, trigger
from tests.support.service_site import BYE, EVERY_HOUR, ServiceSite

pytestmark = pytest.mark.slow

# Whoever looks into an archive there is the platform, once it has it.
_TAKES_ANY_ARCHIVE = ("cloud1-lambda", "cluster-orchestrator")


def test_users_meet_a_service_once_it_is_released(any_site: ServiceSite) -> None:
    site = any_site
    site.up(*site.both())
    assert (site.said(), site.said("/bye"), site.said("/none")) == ("one", "bye", "404")


def test_an_equal_order_changes_nothing(any_site: ServiceSite) -> None:
    site = any_site
    site.up(*site.both())
    site.reset()
    site.up(*site.both())
    assert site.changes() == 0
    assert site.said() == "one"


def test_new_code_is_served_and_other_functions_are_unchanged(any_site: ServiceSite) -> None:
    site = any_site
    site.up(*site.both())
    bye = site.live("bye").resource_id
    site.up(*site.both("two"))
    assert (site.said(), site.said("/bye")) == ("two", "bye")
    assert (site.live("bye").resource_id == bye) is not site.is_one_version


def test_environment_change_takes_effect_and_can_be_reverted(any_site: ServiceSite) -> None:
    site = any_site
    for env, said in (({}, "one"), ({"MODE": "-dark"}, "one-dark"), ({}, "one")):
        site.up(site.order("hello", HTTP, **env))
        assert site.said() == said


def test_removed_trigger_leaves_no_resources(any_site: ServiceSite) -> None:
    site = any_site
    site.up(site.order("hello"))
    bare = site.left()
    site.up(site.order("hello", HTTP, EVERY_HOUR))
    assert site.left() != bare
    assert site.said() == "one"
    site.up(site.order("hello"))
    assert site.left() == bare


def test_function_removed_from_the_config_is_unreachable(any_site: ServiceSite) -> None:
    site = any_site
    site.up(*site.both())
    site.up(site.order("bye", BYE, word="bye"))
    assert (site.said("/bye"), site.said()) == ("bye", "404")
    assert site.find("hello") is None


def test_function_added_back_is_reachable_again(any_site: ServiceSite) -> None:
    site = any_site
    site.up(*site.both())
    site.up(site.order("bye", BYE, word="bye"))
    site.up(*site.both("two"))
    assert (site.said("/bye"), site.said()) == ("bye", "two")


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


def test_deployed_function_is_found_by_its_mark(any_site: ServiceSite) -> None:
    site = any_site
    hello, bye = site.both()
    site.up(hello, bye)
    found = site.find("hello", hello.mark)
    assert found is not None
    assert found.resource_id == site.live("hello").resource_id
    assert site.find("hello") is not None
    assert (site.find("hello", "0" * 32), site.find("none")) == (None, None)


def test_nothing_of_another_service_is_touched(any_site: ServiceSite) -> None:
    site = any_site
    site.up(site.order("hello", HTTP))
    before, other = site.left(), site.beside("other")
    other.up(other.order("bye", BYE, word="other"))
    assert (site.said(), other.said("/bye")) == ("one", "other")
    other.dissolve()
    other.close()
    assert site.left() == before
    assert site.said() == "one"


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
