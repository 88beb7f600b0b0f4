"""From the first deploy to the last removal: what users meet, and how often cloud1 is asked."""

from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from fabric.providers.core.contract import FunctionOrder
from tests.support.cloud1_site import Cloud1Site
from tests.support.orders import HTTP, trigger
from tests.support.servers.strict_cloud1.samples import call

pytestmark = pytest.mark.slow

_BYE = '{"type": "http", "method": "GET", "path": "/bye"}'
_EVERY_HOUR = trigger("cron", schedule="rate(1 hour)")


def said(site: Cloud1Site, path: str = "/hello") -> str:
    assert site.record is not None
    answer = site.cloud1.http_get(site.record.endpoint + path)
    return answer.text if answer.status == 200 else str(answer.status)


def both(site: Cloud1Site, word: str = "one") -> Iterator[FunctionOrder]:
    yield site.order("hello", HTTP, _EVERY_HOUR, word=word)
    yield site.order("bye", _BYE, word="bye")


def again(site: Cloud1Site) -> None:
    """From here on calls are counted."""
    site.cloud1.reset()


def test_users_meet_a_function_once_it_is_released(site: Cloud1Site) -> None:
    site.deploy(site.order("hello", HTTP))
    assert "apis" not in site.cloud1.left()
    site.up(site.order("hello", HTTP))
    assert said(site) == "one"


def test_another_code_asks_for_one_function_and_nothing_around_it(site: Cloud1Site) -> None:
    site.up(*both(site))
    again(site)
    site.deploy(site.order("hello", HTTP, _EVERY_HOUR, word="two"))
    site.release(["hello", "bye"])
    assert said(site) == "two"
    assert sum(site.cloud1.calls().values()) == 8, site.cloud1.calls()


def test_environment_change_publishes_a_new_version(site: Cloud1Site) -> None:
    site.up(site.order("hello", HTTP))
    site.up(site.order("hello", HTTP, MODE="dark"))
    client = site.cloud1.client("lambda")
    name = site.live("hello").resource_name
    shown = [client.get_function(FunctionName=name, Qualifier=one) for one in ("1", "live")]
    variables = [one["Configuration"]["Environment"].get("Variables") for one in shown]
    assert variables == [{}, {"MODE": "dark"}]


def test_removed_trigger_is_deleted_at_the_provider(site: Cloud1Site) -> None:
    site.up(site.order("hello", HTTP, _EVERY_HOUR))
    site.up(site.order("hello", HTTP))
    assert "rules" not in site.cloud1.left()
    site.up(site.order("hello"))
    assert "apis" not in site.cloud1.left()
    client = site.cloud1.client("lambda")
    with pytest.raises(client.exceptions.ResourceNotFoundException):
        client.get_policy(FunctionName="shop-dev-hello:live")


def test_rollback_to_an_existing_version_takes_two_calls(site: Cloud1Site) -> None:
    site.up(*both(site))
    then = site.live("hello")
    site.up(*both(site, "two"))
    again(site)
    order = replace(next(both(site)), version=then.resource_id)
    assert site.deploy(order)[0].resource_id == then.resource_id
    site.release(["hello", "bye"])
    assert said(site) == "one"
    assert site.cloud1.calls() == {"lambda.GetFunction": 1, "lambda.UpdateAlias": 1}


def test_forced_deploy_recreates_and_wires_a_deleted_function(site: Cloud1Site) -> None:
    site.up(*both(site, "zero"))
    site.up(*both(site))
    site.cloud1.client("lambda").delete_function(FunctionName="shop-dev-hello")
    site.up(*both(site), force=True)
    assert said(site) == "one"
    (rule,) = site.cloud1.left()["rules"]
    site.cloud1.fire_rule(rule.removeprefix("default/"))
    assert call(site.cloud1, "shop-dev-hello", "live", {"rawPath": "/"})["body"] == "one"


def test_only_a_forced_deploy_restores_removed_permissions(site: Cloud1Site) -> None:
    site.up(*both(site))
    client = site.cloud1.client("lambda")
    policy = client.get_policy(FunctionName="shop-dev-hello:live")["Policy"]
    for name in (part.split('"')[0] for part in policy.split('"Sid": "')[1:]):
        client.remove_permission(FunctionName="shop-dev-hello:live", StatementId=name)
    site.up(*both(site))
    assert said(site) == "500"
    site.up(*both(site), force=True)
    assert said(site) == "one"


def test_forced_deploy_restores_a_moved_alias(site: Cloud1Site) -> None:
    site.up(*both(site))
    site.up(*both(site, "two"))
    asked = {"FunctionName": "shop-dev-hello", "Name": "live", "FunctionVersion": "1"}
    site.cloud1.client("lambda").update_alias(**asked)
    assert said(site) == "one"
    site.up(*both(site, "two"), force=True)
    assert said(site) == "two"
