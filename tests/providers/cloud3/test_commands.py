"""The command line over a service that is a function app."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.cloud3_site import Cloud3Site
from tests.support.in_process import project
from tests.support.provider_shop import ProviderShop
from tests.support.servers.cloud3.client import Cloud3Server

pytestmark = [pytest.mark.slow, pytest.mark.timeout(60)]


@pytest.fixture
def shop(cloud3: Cloud3Server, tmp_path: Path) -> Iterator[ProviderShop]:
    site = Cloud3Site(cloud3, tmp_path / "site")
    made = ProviderShop(site, project(tmp_path / "project", sources={}))
    made.has("hello", "one")
    yield made
    site.close()


def test_an_unchanged_service_makes_no_call(shop: ProviderShop) -> None:
    shop.ran("deploy")
    assert shop.said("hello") == "one"
    shop.site.reset()
    assert shop.run("deploy").code == 0
    assert shop.site.calls() == 0


def test_a_plan_makes_no_call(shop: ProviderShop) -> None:
    done = shop.run("plan")
    assert (done.code, shop.site.calls()) == (0, 0)


def test_the_outputs_name_the_app_for_observers(shop: ProviderShop) -> None:
    shop.ran("deploy")
    outputs = shop.run("outputs").result["services"][0]["outputs"]
    assert outputs["functionApp"].startswith("shop-dev-")


def test_a_storage_trigger_is_refused_at_plan_with_its_line(shop: ProviderShop) -> None:
    shop.functions["hello"].append(
        "{type: storage, bucket: pictures, events: [objstore1:ObjectCreated:*]}"
    )
    done = shop.run("plan")
    (problem, *_) = done.error["problems"]
    assert (done.code, problem["code"]) == (65, "config/unfit")
    assert problem["where"]["line"] == 4
    assert shop.site.calls() == 0


def test_two_services_with_one_app_name_are_refused(shop: ProviderShop) -> None:
    shop.site.extension = {"appName": "shop-app"}
    shop.write()
    own = (shop.project.root / "fabric.yml").read_text()
    other = own.replace("service: shop", "service: other")
    listed = "services: {shop: {config: fabric.yml}, other: {config: other/fabric.yml}}\n"
    source = {"other/src/hello.ts": "export const handler = () => 1;\n"}
    shop.project.write({"other/fabric.yml": other, "fabric.compose.yml": listed, **source})
    done = shop.project.json("compose", "plan", env=shop.env)
    assert done.error["code"] == "deploy/shared-place"
    assert shop.site.calls() == 0


def test_another_app_name_is_refused_before_the_first_call(shop: ProviderShop) -> None:
    shop.ran("deploy")
    shop.site.reset()
    shop.site.extension = {"appName": "elsewhere"}
    done = shop.run("deploy")
    assert done.error["code"] == "deploy/other-place"
    assert "extensions.cloud3-functions.appName" in done.error["hint"]
    assert shop.site.calls() == 0


def test_doctor_names_the_group_and_missing_variables(shop: ProviderShop) -> None:
    assert "with the resource group rg-fabric in westeurope" in shop.run("doctor").out
    shop.site.env = {"CLOUD3_CLIENT_SECRET": ""}  # type: ignore[attr-defined]
    assert "CLOUD3_CLIENT_SECRET" in shop.run("doctor").out
    path = shop.project.root / "token"
    path.write_text(f"assertion-{shop.site.environment['CLOUD3_CLIENT_ID']}")
    shop.site.env["CLOUD3_FEDERATED_TOKEN_FILE"] = str(path)  # type: ignore[attr-defined]
    assert "with the resource group rg-fabric in westeurope" in shop.run("doctor").out
