"""What host1 refuses, and how that is told: whose, in its own words, and what to do."""

import pytest

from fabric.model.problems import ExitCode, FabricError
from tests.support.host1_site import Host1Site
from tests.support.orders import HTTP
from tests.support.service_site import BYE

pytestmark = pytest.mark.slow


def refused(site: Host1Site, **env: str) -> FabricError:
    site.env = {**site.env, **env}
    with pytest.raises(FabricError) as raised:
        site.up(site.order("hello", HTTP))
    return raised.value


def test_an_upload_that_is_refused_names_its_file(site: Host1Site) -> None:
    site.host1.fault("v2/files", status=422, message="not today")
    with pytest.raises(FabricError) as raised:
        site.up(site.order("hello", HTTP), site.order("bye", BYE))
    assert raised.value.first.message.startswith("the file `.vercel/output/")
    assert "`POST /v2/files` was rejected, 422 not today" in raised.value.first.message


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
