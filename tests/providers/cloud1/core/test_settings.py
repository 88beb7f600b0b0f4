"""What belongs to a function beside its code: tags, its share of all calls, what it waits for."""

import zipfile
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from fabric.model.hashing import hash_bytes
from fabric.model.problems import FabricError
from fabric.providers.core.contract import Artifact, FunctionOrder
from fabric.providers.core.retry import RetryPolicy
from tests.support.cloud1_site import Cloud1Site
from tests.support.orders import HTTP
from tests.support.servers.strict_cloud1.samples import call
from tests.support.service_site import timed

pytestmark = pytest.mark.slow

_BRIEF = RetryPolicy(base=0.001, cap=0.001, most=0.01)


def shown(site: Cloud1Site) -> Any:
    return site.cloud1.client("lambda").get_function(FunctionName="shop-dev-hello")


def test_tags_and_shares_follow_the_config(site: Cloud1Site) -> None:
    order = site.order("hello")
    site.up(replace(order, tags=(("team", "a"), ("old", "x")), reserved_concurrency=5))
    site.up(replace(order, tags=(("team", "b"),), reserved_concurrency=7))
    own = {"fabric:service": "shop", "fabric:stage": "dev", "fabric:function": "hello"}
    assert shown(site)["Tags"] == {**own, "team": "b"}
    assert shown(site)["Concurrency"] == {"ReservedConcurrentExecutions": 7}
    site.up(order)
    assert shown(site)["Tags"] == own
    assert "Concurrency" not in shown(site)


def test_setting_removed_from_the_config_reverts_to_the_default(site: Cloud1Site) -> None:
    site.up(timed(site.order("hello", MODE="dark"), 30))
    site.up(replace(site.order("hello"), settings=(), mark="plain"))
    found = shown(site)["Configuration"]
    assert (found["Timeout"], found["Environment"].get("Variables", {})) == (3, {})


def large(site: Cloud1Site, folder: Path) -> FunctionOrder:
    path = folder / "large.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(
            zipfile.ZipInfo("index.mjs"), "export const handler = async () => 'large';"
        )
        archive.writestr(zipfile.ZipInfo("zeros"), bytes(51 << 20))
    content = path.read_bytes()
    artifact = Artifact(path, hash_bytes(content), len(content), "index.handler", "nodejs20.x")
    return replace(site.order("hello"), artifact=artifact)


def test_large_archive_is_uploaded_through_a_bucket(site: Cloud1Site, tmp_path: Path) -> None:
    order = large(site, tmp_path)
    with pytest.raises(FabricError, match="require a bucket"):
        site.up(order)
    bucket = f"archives-{site.cloud1.account}"
    site.cloud1.client("s3").create_bucket(Bucket=bucket)
    site.extension["artifactBucket"] = bucket
    site.up(order)
    assert call(site.cloud1, "shop-dev-hello", "live") == "large"


def test_function_that_never_becomes_ready_is_reported(site: Cloud1Site) -> None:
    site.waiting = _BRIEF
    site.cloud1.changes_take(1000)
    with pytest.raises(FabricError, match="is not ready after one minute"):
        site.up(site.order("hello"))


def test_function_with_endless_concurrent_updates_is_reported(site: Cloud1Site) -> None:
    site.up(site.order("hello"))
    site.waiting = _BRIEF
    code = "ResourceConflictException"
    words = "An update is in progress for resource"
    asked: dict[str, Any] = {"status": 409, "code": code, "message": words, "times": 1000}
    site.cloud1.fault("lambda.UpdateFunctionConfiguration", **asked)
    with pytest.raises(FabricError, match="in progress"):
        site.up(site.order("hello", word="two"))


def test_function_is_found_by_mark_before_and_after_release(site: Cloud1Site) -> None:
    order = site.order("hello")
    site.up(order)
    second = site.order("hello", word="two")
    site.deploy(second)
    deployer, address = site.deployer, site.address(site.record)
    met = deployer.find(address, "hello")
    made = deployer.find(address, "hello", second.mark)
    assert met is not None
    assert made is not None
    assert (met.mark, made.mark) == (order.mark, second.mark)
    assert deployer.find(address, "none") is None
    assert deployer.find(address, "none", "mark") is None


def test_record_without_stored_values_recovers_them(site: Cloud1Site) -> None:
    site.up(site.order("hello", HTTP))
    assert site.record is not None
    before = site.cloud1.left()
    site.record = replace(site.record, kept=())
    site.up(site.order("hello", HTTP, word="two"))
    assert site.cloud1.left() == before
    assert site.cloud1.http_get(f"{site.record.endpoint}/hello").text == "two"


def test_a_function_that_is_found_by_its_mark_can_be_called_at_once(site: Cloud1Site) -> None:
    site.cloud1.changes_take(4)
    order = site.order("hello")
    site.cloud1.fault("lambda.GetFunction", skip=1, status=400, code="InvalidRequest")
    with pytest.raises(FabricError):
        site.deployer.deploy(site.address(None), (order,), site.watch)
    found = site.deployer.find(site.address(None), "hello", order.mark)
    assert found is not None
    asked = {"FunctionName": found.resource_id, "Payload": b'{"rawPath": "/"}'}
    assert b"one" in site.cloud1.client("lambda").invoke(**asked)["Payload"].read()
