"""What is somebody else's, in another account or another region is neither changed nor lost."""

from pathlib import Path

import pytest

from tests.support.cloud1_shop import EVERY_HOUR, Shop
from tests.support.cloud1_site import changing, make_queue
from tests.support.function_archive import archive
from tests.support.in_process import project
from tests.support.servers.strict_cloud1.client import StrictCloud1
from tests.support.servers.strict_cloud1.samples import role_of

pytestmark = [pytest.mark.slow, pytest.mark.timeout(60)]


@pytest.fixture
def shop(cloud1: StrictCloud1, tmp_path: Path) -> Shop:
    made = Shop(cloud1, project(tmp_path, sources={}))
    made.has("hello", "one", EVERY_HOUR)
    return made


def of_somebody_else(cloud1: StrictCloud1, name: str) -> dict[str, object]:
    functions = cloud1.client("lambda")
    functions.create_function(
        FunctionName=name,
        Runtime="nodejs20.x",
        Role=role_of(cloud1),
        Handler="index.handler",
        Code={"ZipFile": archive(index_mjs="export const handler = async () => 'theirs';")},
        Tags={"owner": "them"},
    )
    found: dict[str, object] = functions.get_function(FunctionName=name)
    return found


def test_foreign_function_is_not_modified(shop: Shop) -> None:
    before = of_somebody_else(shop.cloud1, "shop-dev-hello")
    shop.cloud1.reset()
    error = shop.run("deploy").error
    assert error["code"] == "deploy/foreign"
    assert "`shop-dev-hello`" in error["message"]
    assert "fabric adopt" in error["hint"]
    assert changing(shop.cloud1) == {}
    shop.run("remove", "--yes")
    after = shop.cloud1.client("lambda").get_function(FunctionName="shop-dev-hello")
    assert (after["Tags"], after["Configuration"]["RevisionId"]) == (
        before["Tags"],
        before["Configuration"]["RevisionId"],  # type: ignore[index]
    )


def test_services_with_the_same_joined_name_do_not_take_over_functions(
    cloud1: StrictCloud1, tmp_path: Path
) -> None:
    first = Shop(cloud1, project(tmp_path / "one", sources={}), service="shop-eu")
    first.has("api", "first")
    first.ran("deploy", "--stage", "dev")
    second = Shop(cloud1, project(tmp_path / "two", sources={}), role=first.role)
    second.has("dev-api", "second")
    error = second.run("deploy", "--stage", "eu").error
    assert error["code"] == "deploy/foreign"
    assert "`api` of `shop-eu` in stage `dev`" in error["message"]
    assert "fabric adopt" not in error["hint"]
    second.run("remove", "--yes", "--stage", "eu")
    assert first.said("api") == "first"


def test_recreated_function_is_reachable_again(shop: Shop) -> None:
    shop.ran("deploy")
    shop.cloud1.client("lambda").delete_function(FunctionName="shop-dev-hello")
    shop.has("hello", "two", EVERY_HOUR)
    shop.ran("deploy")
    assert shop.said("hello") == "two"


def test_another_region_is_refused_until_the_first_is_left(shop: Shop) -> None:
    shop.ran("deploy")
    shop.region = "eu-west-1"
    shop.cloud1.reset()
    error = shop.run("deploy").error
    assert error["code"] == "deploy/other-place"
    assert "us-east-1" in error["message"]
    assert changing(shop.cloud1) == {}
    assert shop.said("hello") == "one"
    shop.ran("remove", "--yes")
    assert shop.cloud1.left() == {}
    shop.ran("deploy")
    assert shop.said("hello") == "one"


def test_another_account_is_refused_and_loses_no_record(shop: Shop) -> None:
    shop.ran("deploy")
    own, other = shop.cloud1, StrictCloud1(shop.cloud1.endpoint)
    shop.cloud1, shop.role = other, other.role()
    shop.has("hello", "two", EVERY_HOUR)
    for words in (("deploy",), ("remove", "--yes")):
        error = shop.run(*words).error
        assert error["code"] == "deploy/other-place"
        assert own.account in error["message"]
        assert other.account in error["message"]
    assert other.left() == {}
    other.forget()
    other.close()
    shop.cloud1, shop.role = own, role_of(own)
    shop.ran("deploy")
    assert shop.said("hello") == "two"


def test_a_queue_of_another_account_is_not_taken_for_ones_own(shop: Shop) -> None:
    make_queue(shop.cloud1)
    arn = "arn:aws:sqs:us-east-1:123456789012:work"
    shop.has("hello", "one", f"{{type: queue, queue: '{arn}'}}")
    error = shop.run("deploy").error
    assert error["code"] == "deploy/missing-source"
    assert arn in error["message"]
    assert "mappings" not in shop.cloud1.left()
