"""What host2 refuses, and how that is told: whose, in its own words, and what to do."""

import pytest
from msgspec.structs import replace

from fabric.model.problems import ExitCode, FabricError
from fabric.providers.core.contract import CallContext
from fabric.providers.core.retry import RetryPolicy
from tests.support.host2_site import MAX_PARALLEL, Host2Site
from tests.support.orders import HTTP
from tests.support.service_site import BYE

pytestmark = pytest.mark.slow

_LOGIN = "HOST2_AUTH_TOKEN"


def refused(site: Host2Site, **env: str) -> FabricError:
    site.env = {**site.env, **env}
    with pytest.raises(FabricError) as raised:
        site.up(site.order("hello", HTTP))
    return raised.value


def test_a_token_that_is_not_known_is_77(site: Host2Site) -> None:
    error = refused(site, **{_LOGIN: "tok-other-secret"})
    assert error.exit_code is ExitCode.NO_CREDENTIALS
    assert "401 Access Denied" in error.first.message
    assert "HOST2_AUTH_TOKEN" in error.first.hint
    assert "tok-other-secret" not in repr(error.problems)


def test_a_site_that_is_not_known_is_77_and_named(site: Host2Site) -> None:
    error = refused(site, HOST2_SITE_ID="shop.example")
    assert error.exit_code is ExitCode.NO_CREDENTIALS
    assert "HOST2_SITE_ID" in error.first.hint


def test_missing_credentials_are_all_named_at_once(site: Host2Site) -> None:
    error = refused(site, HOST2_AUTH_TOKEN="", HOST2_SITE_ID="")
    assert error.first.code == "credentials/missing"
    assert "`HOST2_AUTH_TOKEN` and `HOST2_SITE_ID`" in error.first.message
    assert site.host2.calls() == []


def test_unreachable_api_exits_with_69(site: Host2Site) -> None:
    site.waiting = MAX_PARALLEL
    error = refused(site, HOST2_API_BASE_URL="http://127.0.0.1:9/api/v1")
    assert error.exit_code is ExitCode.UNREACHABLE


def test_html_page_instead_of_an_api_response_is_an_error(site: Host2Site) -> None:
    site.waiting = MAX_PARALLEL
    error = refused(site, HOST2_API_BASE_URL=site.host2.site.url)
    assert "unexpected response with status 404" in error.first.message


def test_values_are_never_in_an_error(site: Host2Site) -> None:
    order = site.order("hello", HTTP, WORD="a-hidden-word")
    site.host2.fault("deploys$", method="POST", status=422, message="bad value a-hidden-word")
    with pytest.raises(FabricError) as raised:
        site.deploy(replace(order, secret=frozenset(["WORD"])))
    assert raised.value.first.code == "provider/refused"
    assert "422 bad value" in raised.value.first.message
    assert "a-hidden-word" not in repr(raised.value.problems)


def test_an_upload_that_is_refused_names_its_function(site: Host2Site) -> None:
    site.host2.fault("functions/shop-dev-bye", status=422, message="not today")
    with pytest.raises(FabricError) as raised:
        site.up(site.order("hello", HTTP), site.order("bye", BYE))
    assert raised.value.first.message.startswith("function `bye`: `PUT /deploys/")
    assert "not today" in raised.value.first.message


def test_failed_deploy_is_reported_with_the_provider_message(site: Host2Site) -> None:
    site.host2.failing("the functions are too large")
    error = refused(site)
    assert error.first.code == "provider/refused"
    assert "failed: the functions are too large" in error.first.message
    site.host2.failing("")
    site.up(site.order("hello", HTTP))
    assert site.said() == "one"


def test_deploy_that_timed_out_is_resumed(site: Host2Site) -> None:
    site.host2.slow(3)
    site.waiting = MAX_PARALLEL
    error = refused(site)
    assert error.first.code == "provider/not-ready"
    assert "is still" in error.first.message
    site.waiting = RetryPolicy(base=0.001, most=0.5)
    site.up(site.order("hello", HTTP))
    assert site.host2.deploys() == 1


def test_one_variable_with_two_values_is_refused_before_any_call(site: Host2Site) -> None:
    with pytest.raises(FabricError) as raised:
        site.up(site.order("hello", HTTP, MODE="a"), site.order("bye", BYE, MODE="b"))
    assert raised.value.first.code == "deploy/unfit-environment"
    assert "`MODE` has different values in `hello`" in raised.value.first.message
    assert site.host2.calls() == []
    site.up(site.order("hello", HTTP, MODE="a"), site.order("bye", BYE, MODE="a"))


def test_more_variables_than_a_site_takes_are_refused_before_any_call(site: Host2Site) -> None:
    with pytest.raises(FabricError) as raised:
        site.up(site.order("hello", HTTP, A="x" * 3000), site.order("bye", BYE, B="x" * 3000))
    assert raised.value.first.code == "deploy/environment-too-large"
    assert site.host2.calls() == []


def test_rate_limit_waits_for_retry_after(site: Host2Site) -> None:
    pauses: list[float] = []
    site.waiting = RetryPolicy(base=0.001, cap=0.01, most=0.5, sleep=pauses.append)
    site.host2.fault("deploys$", method="POST", status=429, headers={"retry-after": "7"})
    site.up(site.order("hello", HTTP))
    assert site.said() == "one"
    assert "Netlify: rate limit reached, waiting 7 s" in site.talk
    assert sum(pauses) >= 7
    assert site.host2.deploys() == 1


def test_answers_that_are_lost_on_the_way_are_made_good_by_the_same_run(site: Host2Site) -> None:
    for skip in (0, 1, 2):
        site.host2.fault("", after=True, changing=True, skip=skip)
    site.host2.fault("", half=True, changing=True, skip=1)
    site.up(*site.both())
    assert site.said() == "one"
    assert site.host2.deploys() == 1


def test_a_stop_ends_a_wait(site: Host2Site) -> None:
    site.host2.slow(50)
    address, orders = site.address(), [site.order("hello", HTTP)]
    with pytest.raises(FabricError) as raised:
        site.deployer.deploy(address, orders, CallContext(is_to_end=lambda: True))
    assert raised.value.first.code == "provider/interrupted"


def test_a_redirect_is_not_followed(site: Host2Site) -> None:
    headers = {"location": "https://elsewhere.test/"}
    site.host2.fault("sites", status=302, headers=headers)
    error = refused(site)
    assert error.first.code == "provider/refused"
    assert "GET /sites/" in error.first.message


def test_doctor_reports_the_token_owner(site: Host2Site) -> None:
    who = site.deployer.identity(site.address())
    ident = site.host2.site.id
    assert who == f"{ident}@example.test, with the site name-of-{ident} at {site.host2.site.url}"
    site.env = {"HOST2_AUTH_TOKEN": "tok-none"}
    with pytest.raises(FabricError) as raised:
        site.deployer.identity(site.address())
    assert raised.value.first.code == "credentials/refused"


def test_deploy_waiting_for_unavailable_files_is_not_resumed(site: Host2Site) -> None:
    site.host2.fault("functions/", status=422, message="not today")
    with pytest.raises(FabricError):
        site.up(site.order("hello", HTTP))
    (stuck,) = site.host2.site.deploys.values()
    stuck.required = ["0" * 64]
    site.up(site.order("hello", HTTP))
    assert site.said() == "one"
    assert site.host2.deploys() == 2
    site.dissolve()
    assert site.left() == {}


def test_token_is_never_sent_over_plain_http(site: Host2Site) -> None:
    error = refused(site, HOST2_API_BASE_URL="http://192.0.2.1/v1")
    assert error.first.code == "credentials/plain-endpoint"
    assert "HOST2_API_BASE_URL" in error.first.message
