"""What a provider of whole services refuses, and how that is told: in its own words, and what to
do."""

import pytest
from msgspec.structs import replace

from fabric.model.problems import ExitCode, FabricError
from fabric.providers.core.contract import CallContext
from fabric.providers.core.retry import RetryPolicy
from tests.support.orders import HTTP
from tests.support.service_site import BYE
from tests.support.whole_site import MAX_PARALLEL, WholeSite

pytestmark = pytest.mark.slow


def refused(site: WholeSite, **env: str) -> FabricError:
    site.env = {**site.env, **env}
    with pytest.raises(FabricError) as raised:
        site.up(site.order("hello", HTTP))
    return raised.value


def test_a_token_that_is_not_known_is_77(site: WholeSite) -> None:
    token, _, _ = site.variables
    error = refused(site, **{token: "tok-other-secret"})
    assert error.exit_code is ExitCode.NO_CREDENTIALS
    assert site.denied in error.first.message
    assert token in error.first.hint
    assert "tok-other-secret" not in repr(error.problems)


def test_a_place_that_is_not_known_is_77_and_named(site: WholeSite) -> None:
    _, place, _ = site.variables
    error = refused(site, **{place: "shop.example"})
    assert error.exit_code is ExitCode.NO_CREDENTIALS
    assert place in error.first.hint


def test_missing_credentials_are_all_named_at_once(site: WholeSite) -> None:
    token, place, _ = site.variables
    error = refused(site, **{token: "", place: ""})
    assert error.first.code == "credentials/missing"
    assert f"`{token}` and `{place}`" in error.first.message
    assert site.calls() == 0


def test_unreachable_api_exits_with_69(site: WholeSite) -> None:
    site.waiting = MAX_PARALLEL
    error = refused(site, **{site.variables[2]: "http://127.0.0.1:9"})
    assert error.exit_code is ExitCode.UNREACHABLE


def test_html_page_instead_of_an_api_response_is_an_error(site: WholeSite) -> None:
    site.waiting = MAX_PARALLEL
    error = refused(site, **{site.variables[2]: site.page})
    assert "unexpected response with status 404" in error.first.message


def test_token_is_never_sent_over_plain_http(site: WholeSite) -> None:
    url = site.variables[2]
    error = refused(site, **{url: "http://192.0.2.1"})
    assert error.first.code == "credentials/plain-endpoint"
    assert url in error.first.message


def test_values_are_never_in_an_error(site: WholeSite) -> None:
    order = site.order("hello", HTTP, WORD="a-hidden-word")
    plan = {"method": site.create_method, "status": 422, "message": "bad value a-hidden-word"}
    site.server.fault(site.create, **plan)
    with pytest.raises(FabricError) as raised:
        site.deploy(replace(order, secret=frozenset(["WORD"])))
    assert raised.value.first.code == "provider/refused"
    assert "422 bad value" in raised.value.first.message
    assert "a-hidden-word" not in repr(raised.value.problems)


def test_failed_version_is_reported_with_the_provider_message(site: WholeSite) -> None:
    site.server.failing("the functions are too large")
    error = refused(site)
    assert error.first.code == "provider/refused"
    assert f"failed: {site.failed}" in error.first.message
    site.server.failing("")
    site.up(site.order("hello", HTTP))
    assert site.said() == "one"


def test_version_that_timed_out_is_resumed(site: WholeSite) -> None:
    site.server.slow(3)
    site.waiting = MAX_PARALLEL
    error = refused(site)
    assert error.first.code == "provider/not-ready"
    assert "is still" in error.first.message
    site.waiting = RetryPolicy(base=0.001, most=0.5)
    site.up(site.order("hello", HTTP))
    assert site.versions() == 1


def test_one_variable_with_two_values_is_refused_before_any_call(site: WholeSite) -> None:
    with pytest.raises(FabricError) as raised:
        site.up(site.order("hello", HTTP, MODE="a"), site.order("bye", BYE, MODE="b"))
    assert raised.value.first.code == "deploy/unfit-environment"
    assert "`MODE` has different values in `hello`" in raised.value.first.message
    assert site.calls() == 0
    site.up(site.order("hello", HTTP, MODE="a"), site.order("bye", BYE, MODE="a"))


def test_more_variables_than_a_version_takes_are_refused_before_any_call(site: WholeSite) -> None:
    half = "x" * (site.deployer.environment.most_bytes // 2)
    with pytest.raises(FabricError) as raised:
        site.up(site.order("hello", HTTP, A=half), site.order("bye", BYE, B=half))
    assert raised.value.first.code == "deploy/environment-too-large"
    assert site.calls() == 0


def test_rate_limit_waits_for_retry_after(site: WholeSite) -> None:
    pauses: list[float] = []
    site.waiting = RetryPolicy(base=0.001, cap=0.01, most=0.5, sleep=pauses.append)
    plan = {"method": site.create_method, "status": 429, "headers": {"retry-after": "7"}}
    site.server.fault(site.create, **plan)
    site.up(site.order("hello", HTTP))
    assert site.said() == "one"
    assert f"{site.title}: rate limit reached, waiting 7 s" in site.talk
    assert sum(pauses) >= 7
    assert site.versions() == 1


def test_answers_that_are_lost_on_the_way_are_made_good_by_the_same_run(site: WholeSite) -> None:
    for skip in (0, 1, 2):
        site.server.fault("", after=True, skip=skip, **site.creating)
    site.server.fault("", half=True, skip=1, **site.creating)
    site.up(*site.both())
    assert site.said() == "one"
    assert site.versions() == 1


def test_a_stop_ends_a_wait(site: WholeSite) -> None:
    site.server.slow(50)
    address, orders = site.address(), [site.order("hello", HTTP)]
    with pytest.raises(FabricError) as raised:
        site.deployer.deploy(address, orders, CallContext(is_to_end=lambda: True))
    assert raised.value.first.code == "provider/interrupted"


def test_a_redirect_is_not_followed(site: WholeSite) -> None:
    headers = {"location": "https://elsewhere.test/"}
    site.server.fault(site.place_path, status=302, headers=headers)
    error = refused(site)
    assert error.first.code == "provider/refused"
    assert f"GET {site.place_path}" in error.first.message
