"""Previews, promotions and verified code at cloud1, with the calls that they take."""

from pathlib import Path

import pytest

from tests.support.cloud1_shop import EVERY_HOUR, Shop
from tests.support.function_archive import archive
from tests.support.git import under_git
from tests.support.in_process import project
from tests.support.servers.strict_cloud1.client import StrictCloud1

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]
_PREVIEWS = ("pr-1", "pr-2")
# Deletions of a preview: two functions, the API, a rule.
_DELETED = 4
_NAMES = ("bye", "hello")


@pytest.fixture
def shop(cloud1: StrictCloud1, tmp_path: Path) -> Shop:
    made = Shop(cloud1, project(tmp_path, sources={}))
    made.has("hello", "one", EVERY_HOUR)
    made.has("bye", "bye")
    return made


def digests(shop: Shop, stage: str) -> dict[str, str]:
    """What the provider reports for the code that is live."""
    found = (
        shop.cloud1.client("lambda").get_function_configuration(
            FunctionName=f"shop-{stage}-{name}", Qualifier="live"
        )
        for name in _NAMES
    )
    return {name: str(one["CodeSha256"]) for name, one in zip(_NAMES, found, strict=True)}


def test_a_sweep_deletes_what_the_previews_made_and_nothing_else(shop: Shop) -> None:
    shop.ran("deploy")
    before = shop.cloud1.left()
    for name in _PREVIEWS:
        shop.ran("deploy", "--preview", name, "--expires", "1ms")
    assert shop.cloud1.left() != before
    calls = shop.ran("sweep", "--yes")
    assert shop.cloud1.left() == before
    assert sum(calls.values()) <= 2 * _DELETED * len(_PREVIEWS) + 2, calls
    assert shop.said("hello") == "one"


def test_promoted_functions_have_the_digests_of_their_first_stage(shop: Shop) -> None:
    shop.ran("deploy")
    for name in _NAMES:
        (shop.project.root / f"{name}.py").unlink()
    first = shop.ran("promote", "dev", "prod")
    assert digests(shop, "prod") == digests(shop, "dev")
    assert first["lambda.CreateFunction"] == len(_NAMES)
    assert shop.ran("promote", "dev", "prod") == {}


def test_a_promotion_of_changed_code_takes_the_calls_of_a_deploy(shop: Shop) -> None:
    shop.ran("deploy")
    shop.ran("promote", "dev", "prod")
    shop.has("hello", "two", EVERY_HOUR)
    calls = shop.ran("deploy")
    assert shop.ran("promote", "dev", "prod") == calls
    assert digests(shop, "prod") == digests(shop, "dev")


def test_code_that_was_changed_at_the_provider_is_named(shop: Shop) -> None:
    shop.write()
    under_git(shop.project)
    shop.ran("deploy")
    assert shop.run("verify").code == 0
    code = shop.cloud1.client("lambda")
    name = "shop-dev-hello"
    code.update_function_code(FunctionName=name, ZipFile=archive(x_py="x = 1"))
    code.get_waiter("function_updated_v2").wait(FunctionName=name)
    version = code.publish_version(FunctionName=name)["Version"]
    code.update_alias(FunctionName=name, Name="live", FunctionVersion=version)
    done = shop.run("verify")
    assert done.code == 1
    rows = {one["function"]: one for one in done.document["result"]["functions"]}
    assert rows["bye"]["verdict"] == "match"
    assert rows["hello"]["reason"] == "the code was changed outside of fabric"
