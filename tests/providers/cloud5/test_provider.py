"""What is cloud5's own: a namespace that is asked for with a token, and clocks of its own."""

import json

import pytest

from fabric.model.problems import ExitCode, FabricError
from tests.support.orders import HTTP, trigger
from tests.support.service_site import EVERY_HOUR
from tests.support.whisk_site import MAX_PARALLEL, Cloud5Site

pytestmark = pytest.mark.slow

_LOGIN = "CLOUD5_ACCESS_TOKEN"


def refused(site: Cloud5Site, **env: str) -> FabricError:
    site.env = {**site.env, **env}
    with pytest.raises(FabricError) as raised:
        site.up(site.order("hello", HTTP))
    return raised.value


def test_a_token_that_is_not_known_is_77(site: Cloud5Site) -> None:
    error = refused(site, **{_LOGIN: "tok-other-secret"})
    assert error.exit_code is ExitCode.NO_CREDENTIALS
    assert "CLOUD5_ACCESS_TOKEN" in error.first.hint
    assert "tok-other-secret" not in repr(error.problems)


def test_a_namespace_that_is_not_there_is_77_and_named(site: Cloud5Site) -> None:
    error = refused(site, CLOUD5_NAMESPACE="fn-none")
    assert error.exit_code is ExitCode.NO_CREDENTIALS
    assert "CLOUD5_NAMESPACE" in error.first.hint
    assert "namespace not found" in error.first.message


def test_missing_credentials_are_all_named_at_once(site: Cloud5Site) -> None:
    error = refused(site, CLOUD5_ACCESS_TOKEN="", CLOUD5_NAMESPACE="")
    assert "`CLOUD5_ACCESS_TOKEN` and `CLOUD5_NAMESPACE`" in error.first.message
    assert site.server.calls() == []


def test_the_key_of_a_namespace_is_never_in_an_error(site: Cloud5Site) -> None:
    words = f"no such key {site.server.space.key}"
    site.server.fault("packages", status=401, message=words)
    error = refused(site)
    assert "no such key" in error.first.message
    assert site.server.space.key.partition(":")[2] not in repr(error.problems)


def test_a_host_of_ones_own_takes_the_place_of_the_namespaces(site: Cloud5Site) -> None:
    site.waiting = MAX_PARALLEL
    error = refused(site, CLOUD5_API_HOST="http://127.0.0.1:9")
    assert error.exit_code is ExitCode.UNREACHABLE


def test_namespace_is_requested_once(site: Cloud5Site) -> None:
    site.up(*site.both())
    own = f"/v2/functions/namespaces/{site.server.space.name}"
    asked = [path for _, path, _ in site.server.calls() if path == own]
    assert len(asked) == 1


def test_a_clock_calls_with_the_event_of_schedules(site: Cloud5Site) -> None:
    site.up(site.order("hello", HTTP, EVERY_HOUR))
    (row,) = site.server.space.schedules.values()
    assert row["function"] == "shop-dev/hello"
    assert site.server.fire() == [True]
    event = json.loads(site.server.log("hello").removeprefix("given "))
    assert event["detail-type"] == "Scheduled Event"


def test_foreign_trigger_is_not_modified(site: Cloud5Site) -> None:
    site.up(site.order("hello", HTTP, EVERY_HOUR))
    (ident,) = site.server.space.schedules
    site.dissolve()
    other = {"name": ident, "function": "other/thing"}
    site.server.space.schedules[ident] = dict(other)
    site.record = None
    with pytest.raises(FabricError) as raised:
        site.up(site.order("hello", HTTP, EVERY_HOUR))
    assert raised.value.first.code == "deploy/foreign"
    site.dissolve()
    assert site.server.space.schedules == {ident: other}


def test_changed_schedule_replaces_the_trigger(site: Cloud5Site) -> None:
    site.up(site.order("hello", HTTP, EVERY_HOUR))
    site.up(site.order("hello", HTTP, trigger("cron", schedule="0 12 * * 1-5")))
    assert site.server.schedules() == ["0 12 * * MON,TUE,WED,THU,FRI"]


def test_requests_in_one_member_are_understood_too(site: Cloud5Site) -> None:
    """As cloud5 documents them."""
    site.up(site.order("hello", HTTP))
    live = site.live("hello")
    http = {
        "method": "GET",
        "path": "/hello",
        "queryString": "a=1",
        "headers": {"x-a": "b"},
        "body": "aGV5",
        "isBase64Encoded": True,
    }
    result = site.server.invoked(live.resource_name, {"http": http})
    assert (result["statusCode"], result["body"]) == (200, "one")
    given = json.loads(site.server.log("hello").removeprefix("given "))
    assert (given["rawQueryString"], given["headers"]) == ("a=1", {"x-a": "b"})
    assert given["body"] == "hey"


def test_a_namespace_behind_plain_http_is_not_called(site: Cloud5Site) -> None:
    site.server.space.host = "http://faas.example"
    error = refused(site)
    assert error.first.code == "credentials/plain-endpoint"
    assert "`http://faas.example`" in error.first.message
