"""What host1 refuses, and how that is told: whose, in its own words, and what to do."""

import pytest
from msgspec.structs import replace

from fabric.model.problems import ExitCode, FabricError
from fabric.providers.core.contract import CallContext
from fabric.providers.core.retry import RetryPolicy
from tests.support.host1_site import MAX_PARALLEL, Host1Site
from tests.support.orders import HTTP
from tests.support.service_site import BYE

pytestmark = pytest.mark.slow

_LOGIN = "HOST1_TOKEN"
_CREATE = "v13/deployments$"


def refused(site: Host1Site, **env: str) -> FabricError:
    site.env = {**site.env, **env}
    with pytest.raises(FabricError) as raised:
        site.up(site.order("hello", HTTP))
    return raised.value


def test_a_token_that_is_not_known_is_77(site: Host1Site) -> None:
    error = refused(site, **{_LOGIN: "tok-other-secret"})
    assert error.exit_code is ExitCode.NO_CREDENTIALS
    assert "403 Not authorized" in error.first.message
    assert "HOST1_TOKEN" in error.first.hint
    assert "tok-other-secret" not in repr(error.problems)


def test_a_project_that_is_not_known_is_77_and_named(site: Host1Site) -> None:
    error = refused(site, HOST1_PROJECT_ID="shop.example")
    assert error.exit_code is ExitCode.NO_CREDENTIALS
    assert "HOST1_PROJECT_ID" in error.first.hint


def test_missing_credentials_are_all_named_at_once(site: Host1Site) -> None:
    error = refused(site, HOST1_TOKEN="", HOST1_PROJECT_ID="")
    assert error.first.code == "credentials/missing"
    assert "`HOST1_TOKEN` and `HOST1_PROJECT_ID`" in error.first.message
    assert site.host1.calls() == []


def test_unreachable_api_exits_with_69(site: Host1Site) -> None:
    site.waiting = MAX_PARALLEL
    error = refused(site, HOST1_API_BASE_URL="http://127.0.0.1:9")
    assert error.exit_code is ExitCode.UNREACHABLE


def test_html_page_instead_of_an_api_response_is_an_error(site: Host1Site) -> None:
    site.waiting = MAX_PARALLEL
    error = refused(
        site,
        HOST1_API_BASE_URL=f"{site.host1.front.endpoint}/met/{site.host1.project.domains[0]['name']}",
    )
    assert "unexpected response with status 404" in error.first.message


def test_values_are_never_in_an_error(site: Host1Site) -> None:
    order = site.order("hello", HTTP, WORD="a-hidden-word")
    site.host1.fault(_CREATE, method="POST", status=422, message="bad value a-hidden-word")
    with pytest.raises(FabricError) as raised:
        site.deploy(replace(order, secret=frozenset(["WORD"])))
    assert raised.value.first.code == "provider/refused"
    assert "422 bad value" in raised.value.first.message
    assert "a-hidden-word" not in repr(raised.value.problems)


def test_an_upload_that_is_refused_names_its_file(site: Host1Site) -> None:
    site.host1.fault("v2/files", status=422, message="not today")
    with pytest.raises(FabricError) as raised:
        site.up(site.order("hello", HTTP), site.order("bye", BYE))
    assert raised.value.first.message.startswith("the file `.vercel/output/")
    assert "`POST /v2/files` was rejected, 422 not today" in raised.value.first.message


def test_failed_deployment_is_reported_with_the_provider_message(site: Host1Site) -> None:
    site.host1.failing("the functions are too large")
    error = refused(site)
    assert error.first.code == "provider/refused"
    assert "failed: the functions are too large" in error.first.message
    site.host1.failing("")
    site.up(site.order("hello", HTTP))
    assert site.said() == "one"


def test_deployment_that_timed_out_is_resumed(site: Host1Site) -> None:
    site.host1.slow(3)
    site.waiting = MAX_PARALLEL
    error = refused(site)
    assert error.first.code == "provider/not-ready"
    assert "is still" in error.first.message
    site.waiting = RetryPolicy(base=0.001, most=0.5)
    site.up(site.order("hello", HTTP))
    assert site.host1.deployments() == 1


def test_one_variable_with_two_values_is_refused_before_any_call(site: Host1Site) -> None:
    with pytest.raises(FabricError) as raised:
        site.up(site.order("hello", HTTP, MODE="a"), site.order("bye", BYE, MODE="b"))
    assert raised.value.first.code == "deploy/unfit-environment"
    assert "`MODE` has different values in `hello`" in raised.value.first.message
    assert site.host1.calls() == []
    site.up(site.order("hello", HTTP, MODE="a"), site.order("bye", BYE, MODE="a"))


def test_more_variables_than_a_deployment_takes_are_refused_before_any_call(
    site: Host1Site,
) -> None:
    with pytest.raises(FabricError) as raised:
        site.up(site.order("hello", HTTP, A="x" * 40_000), site.order("bye", BYE, B="x" * 40_000))
    assert raised.value.first.code == "deploy/environment-too-large"
    assert site.host1.calls() == []


def test_rate_limit_waits_for_retry_after(site: Host1Site) -> None:
    pauses: list[float] = []
    site.waiting = RetryPolicy(base=0.001, cap=0.01, most=0.5, sleep=pauses.append)
    site.host1.fault(_CREATE, method="POST", status=429, headers={"retry-after": "7"})
    site.up(site.order("hello", HTTP))
    assert site.said() == "one"
    assert "Vercel: rate limit reached, waiting 7 s" in site.talk
    assert sum(pauses) >= 7
    assert site.host1.deployments() == 1


def test_answers_that_are_lost_on_the_way_are_made_good_by_the_same_run(site: Host1Site) -> None:
    for skip in (0, 1, 2):
        site.host1.fault("", after=True, method="POST", skip=skip)
    site.host1.fault("", half=True, method="POST", skip=1)
    site.up(*site.both())
    assert site.said() == "one"
    assert site.host1.deployments() == 1


def test_a_stop_ends_a_wait(site: Host1Site) -> None:
    site.host1.slow(50)
    address, orders = site.address(), [site.order("hello", HTTP)]
    with pytest.raises(FabricError) as raised:
        site.deployer.deploy(address, orders, CallContext(is_to_end=lambda: True))
    assert raised.value.first.code == "provider/interrupted"


def test_a_redirect_is_not_followed(site: Host1Site) -> None:
    headers = {"location": "https://elsewhere.test/"}
    site.host1.fault("projects", status=302, headers=headers)
    error = refused(site)
    assert error.first.code == "provider/refused"
    assert "GET /v9/projects/" in error.first.message


def test_doctor_reports_the_token_owner(site: Host1Site) -> None:
    who = site.deployer.identity(site.address())
    project = site.host1.project
    domain = project.domains[0]["name"]
    assert who == f"{project.id}@example.test, with the project {project.name} at {domain}"
    site.env = {"HOST1_TOKEN": "tok-none"}
    with pytest.raises(FabricError) as raised:
        site.deployer.identity(site.address())
    assert raised.value.first.code == "credentials/refused"


def test_failed_deployment_is_not_resumed(site: Host1Site) -> None:
    site.host1.failing("no room")
    refused(site)
    site.host1.failing("")
    site.up(site.order("hello", HTTP))
    assert (site.host1.deployments(), site.said()) == (2, "one")
    site.dissolve()
    assert site.left() == {}


def test_a_team_that_is_not_the_projects_is_77(site: Host1Site) -> None:
    error = refused(site, HOST1_ORG_ID="team_other")
    assert error.exit_code is ExitCode.NO_CREDENTIALS
    assert "HOST1_ORG_ID" in error.first.hint


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("HOST1_ORG_ID", "team_a\n"),
        ("HOST1_SITES_URL", "garbage"),
        ("HOST1_SITES_URL", "http://localhost/{nope}"),
        ("HOST1_SITES_URL", "http://localhost/{domain}\n"),
    ],
)
def test_invalid_variables_are_reported_before_any_call(
    site: Host1Site, name: str, value: str
) -> None:
    error = refused(site, **{name: value})
    assert error.exit_code is ExitCode.NO_CREDENTIALS
    assert f"`{name}`" in error.first.message
    assert error.first.hint
    assert site.calls() == 0


def test_refused_release_leaves_live_traffic_unchanged(site: Host1Site) -> None:
    site.up(site.order("hello", HTTP))
    site.refuse_release()
    with pytest.raises(FabricError) as raised:
        site.up(site.order("hello", HTTP, word="two"))
    assert raised.value.first.code == "provider/refused"
    assert site.said() == "one"


def test_token_is_never_sent_over_plain_http(site: Host1Site) -> None:
    error = refused(site, HOST1_API_BASE_URL="http://192.0.2.1")
    assert error.first.code == "credentials/plain-endpoint"
    assert "HOST1_API_BASE_URL" in error.first.message
