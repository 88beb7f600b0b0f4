"""The command line over a service of machines."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.host3_site import Host3Site
from tests.support.in_process import project
from tests.support.provider_shop import ProviderShop
from tests.support.servers.host3.client import Host3Server

pytestmark = [pytest.mark.slow, pytest.mark.timeout(60)]


@pytest.fixture
def shop(host3: Host3Server, tmp_path: Path) -> Iterator[ProviderShop]:
    site = Host3Site(host3, tmp_path / "site")
    made = ProviderShop(site, project(tmp_path / "project", sources={}))
    made.has("hello", "one")
    yield made
    site.close()


def machines(shop: ProviderShop) -> Host3Site:
    assert isinstance(shop.site, Host3Site)
    return shop.site


def test_an_unchanged_service_makes_no_call(shop: ProviderShop) -> None:
    shop.ran("deploy")
    shop.site.reset()
    assert shop.run("deploy").code == 0
    assert shop.site.calls() == 0


def test_settings_of_releases_create_no_machine(shop: ProviderShop) -> None:
    shop.ran("deploy")
    shop.site.extension = {"hostname": "shop.example.com"}
    shop.ran("deploy")
    host3 = machines(shop).host3
    assert host3.actions()["POST /machines"] == 0
    assert host3.app.certificates == {"shop.example.com"}


def test_settings_of_machines_create_others(shop: ProviderShop) -> None:
    shop.ran("deploy")
    shop.site.extension = {"cpus": 2}
    shop.ran("deploy")
    (body,) = machines(shop).host3.bodies("POST /apps/{app_name}/machines")
    assert body["config"]["guest"] == {"cpu_kind": "shared", "cpus": 2, "memory_mb": 512}


def test_another_image_is_deployed(shop: ProviderShop) -> None:
    shop.ran("deploy")
    machines(shop).env = {"HOST3_IMAGE": "node:24-slim"}
    shop.ran("deploy")
    (body,) = machines(shop).host3.bodies("POST /apps/{app_name}/machines")
    assert body["config"]["image"] == "node:24-slim"


def test_a_queue_is_refused_at_plan_with_its_line(shop: ProviderShop) -> None:
    shop.functions["hello"].append("{type: queue, queue: mail}")
    done = shop.run("plan")
    (problem, *_) = done.error["problems"]
    assert done.code == 65
    assert problem["where"]["line"] == 4
    assert shop.site.calls() == 0


def test_unsupported_cpus_are_refused_at_plan_with_their_place(shop: ProviderShop) -> None:
    shop.site.extension = {"cpus": 3}
    done = shop.run("plan")
    (problem,) = done.error["problems"]
    assert (done.code, problem["code"]) == (65, "config/unfit")
    assert problem["hint"] == "use 1, 2, 4, 8, 16"
    assert problem["where"]["line"] == 5


def test_logs_are_refused_with_the_command_of_fly(shop: ProviderShop) -> None:
    shop.ran("deploy")
    done = shop.run("logs")
    app = machines(shop).host3.app.name
    assert done.error["code"] == "observe/none"
    assert f"run `fly logs --app {app}`, or set `FABRIC_HOST3_LOGS_CMD`" in done.out


def test_metrics_are_refused_with_the_variable_of_a_command(shop: ProviderShop) -> None:
    shop.ran("deploy")
    done = shop.run("metrics")
    assert done.error["code"] == "observe/none"
    assert "set `FABRIC_HOST3_METRICS_CMD`" in done.out
    assert "fly logs" not in done.out
