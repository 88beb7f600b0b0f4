"""What of a config cloud5 and cloud6 would refuse, or fabric cannot do there: without a call."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from fabric.providers.core.contract import FunctionDraft
from fabric.providers.whisk.client import (
    WhiskPlace,
    build_version_name,
    format_resource_id,
    place_in,
    read_version,
)
from tests.support.orders import address, around, open_real, trigger

GOOD = FunctionDraft("hello", (("runtime", "nodejs22.x"),), variables=("MODE",))
EVERY_HOUR = trigger("cron", schedule="rate(1 hour)")
_BOTH = ("cloud5-functions", "cloud6-functions")


def told(*drafts: FunctionDraft, provider: str = "cloud6-functions") -> list[str]:
    deployer = open_real(provider, around(Path("/"), {}))
    found = deployer.unfit(address(provider), drafts)
    assert all(one.problem.code == "config/unfit" for one in found)
    return [one.problem.message for one in found]


def http(path: str, **more: object) -> str:
    return trigger("http", method="GET", path=path, **more)


@pytest.mark.parametrize("provider", _BOTH)
@pytest.mark.parametrize("runtime", ["nodejs", "nodejs22.x", "python", "python3.12"])
def test_an_ordinary_function_fits(provider: str, runtime: str) -> None:
    triggers = (http("/items/{id}", cors=True), EVERY_HOUR)
    settings = (("runtime", runtime), ("memory", "256"), ("timeout", "30"))
    assert told(replace(GOOD, triggers=triggers, settings=settings), provider=provider) == []


@pytest.mark.parametrize("provider", _BOTH)
def test_a_region_is_not_passed_over(provider: str) -> None:
    deployer = open_real(provider, around(Path("/"), {}))
    (found,) = deployer.unfit(address(provider, region="eu-de"), [GOOD])
    name = {"cloud5-functions": "DigitalOcean", "cloud6-functions": "OpenWhisk"}[provider]
    assert found.problem.message == f"the region `eu-de` has no effect for {name}"
    assert found.keys == ("provider", "region")


@pytest.mark.parametrize("runtime", ["nodejs20.x", "python3.10", "ruby3"])
def test_runtimes_that_cloud5_does_not_have_are_named(runtime: str) -> None:
    draft = replace(GOOD, settings=(("runtime", runtime),))
    (message,) = told(draft, provider="cloud5-functions")
    assert (
        message
        == f"function `hello` has the runtime `{runtime}`, which DigitalOcean does not support"
    )


@pytest.mark.parametrize(
    ("draft", "words"),
    [
        (replace(GOOD, settings=(*GOOD.settings, ("memory", "64"))), "64 MB"),
        (replace(GOOD, settings=(*GOOD.settings, ("architecture", "arm64"))), "`arm64`"),
        (replace(GOOD, provisioned_concurrency=2), "`provisionedConcurrency`"),
        (
            replace(GOOD, settings=(*GOOD.settings, ("concurrency", "reserved=5"))),
            "`reservedConcurrency`",
        ),
        (replace(GOOD, variables=("__OW_API_KEY", "MY_OW")), "`__OW_API_KEY`"),
        (replace(GOOD, variables=("http",)), "`http`"),
        (replace(GOOD, triggers=(trigger("queue", queue="q"),)), "`queue`"),
        (replace(GOOD, triggers=(http("/", authorizer={"name": "a"}),)), "authorizer"),
        (replace(GOOD, triggers=(trigger("cron", schedule="rate(7 minutes)"),)), "rate(7 minutes)"),
    ],
)
@pytest.mark.parametrize("provider", _BOTH)
def test_unsupported_settings_are_reported(draft: FunctionDraft, words: str, provider: str) -> None:
    (message,) = told(draft, provider=provider)
    assert words in message


def test_only_alarms_support_time_zones() -> None:
    clock = trigger("cron", schedule="0 9 * * *", timezone="Europe/Vienna")
    assert told(replace(GOOD, triggers=(clock,))) == []
    (message,) = told(replace(GOOD, triggers=(clock,)), provider="cloud5-functions")
    assert "`Europe/Vienna`" in message
    utc = trigger("cron", schedule="0 9 * * *", timezone="UTC")
    assert told(replace(GOOD, triggers=(utc,)), provider="cloud5-functions") == []


def test_resource_id_contains_host_and_namespace() -> None:
    place = WhiskPlace("ns", "whisk.test")
    name = build_version_name("hello", "mark", "around")
    ident = format_resource_id(place, "shop-dev", name)
    assert (place_in(ident), read_version(ident)) == (place.id, name)
    assert name != build_version_name("hello", "mark", "another")
    assert (place_in("hello"), read_version("")) == ("", "")
