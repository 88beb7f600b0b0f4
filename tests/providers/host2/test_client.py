"""What host2 refuses, and how that is told: whose, in its own words, and what to do."""

import pytest

from fabric.model.problems import FabricError
from tests.support.host2_site import Host2Site
from tests.support.orders import HTTP
from tests.support.service_site import BYE

pytestmark = pytest.mark.slow


def refused(site: Host2Site, **env: str) -> FabricError:
    site.env = {**site.env, **env}
    with pytest.raises(FabricError) as raised:
        site.up(site.order("hello", HTTP))
    return raised.value


def test_an_upload_that_is_refused_names_its_function(site: Host2Site) -> None:
    site.host2.fault("functions/shop-dev-bye", status=422, message="not today")
    with pytest.raises(FabricError) as raised:
        site.up(site.order("hello", HTTP), site.order("bye", BYE))
    assert raised.value.first.message.startswith("function `bye`: `PUT /deploys/")
    assert "not today" in raised.value.first.message


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
