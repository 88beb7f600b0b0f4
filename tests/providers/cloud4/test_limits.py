"""What of a config cloud4 would refuse, or fabric cannot do there: without a call."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from fabric.providers.cloud4.settings import (
    Cloud4Place,
    FunctionVersion,
    PublishedMark,
    build_function_name,
    format_description,
    mark_in,
    parse_version,
)
from fabric.providers.cloud4.versions import choose_cpu, is_cpu_allowed
from fabric.providers.core.contract import FunctionDraft
from fabric.providers.core.ownership import build_owner
from tests.support.orders import address, around, open_real, trigger

GOOD = FunctionDraft("hello", (("runtime", "nodejs20.x"),), variables=("MODE",))
EVERY_HOUR = trigger("cron", schedule="rate(1 hour)")


def told(*drafts: FunctionDraft, extension: str = "{}") -> list[str]:
    deployer = open_real("cloud4-fc", around(Path("/"), {}), extension)
    found = deployer.unfit(address("cloud4-fc"), drafts)
    assert all(one.problem.code == "config/unfit" for one in found)
    return [one.problem.message for one in found]


def http(path: str, **more: object) -> str:
    return trigger("http", method="GET", path=path, **more)


def having(*settings: tuple[str, str]) -> FunctionDraft:
    return replace(GOOD, settings=(*GOOD.settings, *settings))


@pytest.mark.parametrize("runtime", ["nodejs", "nodejs18.x", "python", "python3.10", "python3.12"])
def test_an_ordinary_function_fits(runtime: str) -> None:
    clock = trigger("cron", schedule="0 9 * * *", timezone="Europe/Vienna")
    sizes = (("memory", "256"), ("timeout", "900"), ("concurrency", "reserved=5"))
    settings = (("runtime", runtime), *sizes)
    triggers = (http("/items/{id}", cors=True), EVERY_HOUR, clock)
    assert told(replace(GOOD, triggers=triggers, settings=settings)) == []


@pytest.mark.parametrize("runtime", ["nodejs22.x", "python3.11", "ruby3"])
def test_runtimes_that_cloud4_does_not_have_are_named(runtime: str) -> None:
    (message,) = told(replace(GOOD, settings=(("runtime", runtime),)))
    assert (
        message
        == f"function `hello` has the runtime `{runtime}`, which Alibaba Cloud does not support"
    )


@pytest.mark.parametrize(
    ("draft", "words"),
    [
        (having(("memory", "100")), "100 MB"),
        (having(("memory", "200")), "steps of 64"),
        (having(("architecture", "arm64")), "`arm64`"),
        (replace(GOOD, provisioned_concurrency=2), "`provisionedConcurrency`"),
        (having(("concurrency", "reserved=0")), "`reservedConcurrency: 0`"),
        (replace(GOOD, variables=("FC_REGION", "MY_FC")), "`FC_REGION`"),
        (replace(GOOD, variables=("ALIBABA_CLOUD_ACCESS_KEY_ID",)), "`ALIBABA_CLOUD_ACCESS_KEY"),
        (replace(GOOD, triggers=(trigger("queue", queue="q"),)), "`queue`"),
        (replace(GOOD, triggers=(trigger("eventbus", pattern={}),)), "`eventbus`"),
        (replace(GOOD, triggers=(trigger("storage", bucket="b", events=["e"]),)), "`storage`"),
        (replace(GOOD, triggers=(http("/", authorizer={"name": "a"}),)), "authorizer"),
        (replace(GOOD, triggers=(trigger("cron", schedule="cron(0 9 L * ? *)"),)), "`L`"),
        (replace(GOOD, triggers=(EVERY_HOUR,) * 51), "51 triggers"),
        (replace(GOOD, tags=(("acs:team", "shop"),)), "`acs:team: shop`"),
        (replace(GOOD, tags=(("web", "https://shop.test"),)), "`web: https://shop.test`"),
    ],
)
def test_unsupported_settings_are_reported(draft: FunctionDraft, words: str) -> None:
    (message,) = told(draft)
    assert words in message


@pytest.mark.parametrize(
    ("extension", "words"),
    [
        ('{"role": "shop"}', "not the ARN of a role"),
        ('{"diskSize": 1024}', "512 or 10240"),
        ('{"cpu": 0.33}', "steps of 0.05"),
        ('{"cpu": 4}', "512 MB and a `cpu` of 4"),
    ],
)
def test_own_settings_that_cannot_be_are_named(extension: str, words: str) -> None:
    (message,) = told(GOOD, extension=extension)
    assert words in message


def test_own_settings_that_fit_are_taken() -> None:
    own = '{"role": "acs:ram::1234567890123456:role/shop", "cpu": 0.35, "diskSize": 10240}'
    assert told(GOOD, extension=own) == []


def test_functions_with_the_same_resource_name_are_reported() -> None:
    long = "x" * 80
    names = [replace(GOOD, name=name) for name in ("a.b", "a b", long, f"{long}y")]
    (message,) = told(*names)
    assert "`shop-dev-a-b`" in message


def test_chosen_cpu_is_allowed_for_the_memory() -> None:
    for memory in range(128, 32_769, 64):
        cpu = choose_cpu(memory)
        assert is_cpu_allowed(memory, cpu)
        assert abs(cpu * 20 - round(cpu * 20)) < 1e-9


def test_function_names_are_valid_for_cloud4() -> None:
    own = address("cloud4-fc")
    assert build_function_name(own, "hello") == "shop-dev-hello"
    assert build_function_name(replace(own, service="7up"), "hello") == "f-7up-dev-hello"
    assert len(build_function_name(replace(own, service="s" * 63), "f" * 64)) == 64


def test_description_is_short_and_identifies_its_owner() -> None:
    own = replace(address("cloud4-fc"), service="s" * 63, stage="t" * 63)
    owner = build_owner(own, "f" * 64)
    words = format_description(owner, "m" * 64)
    assert len(words) <= 256
    assert owner.is_in(words)
    assert not build_owner(own, "other").is_in(words)


def test_a_mark_is_read_as_it_was_written() -> None:
    mark = PublishedMark("m" * 32, "a" * 8, "0" * 64)
    assert len(mark.text) <= 256
    assert mark_in(mark.text) == mark
    assert mark_in("manually").mark == ""
    assert mark.is_wanted(PublishedMark("m" * 32))
    assert not mark.is_wanted(PublishedMark("m" * 32, "b" * 8))
    assert not PublishedMark("").is_wanted(PublishedMark(""))


def test_version_id_contains_its_region_and_account() -> None:
    version = FunctionVersion("acs:fc:cn-shanghai:123:functions/shop-dev-hello", "3", "id-7")
    assert parse_version(version.text) == version
    assert version.place == Cloud4Place("cn-shanghai", "123")
    assert parse_version("shop-dev-hello") == FunctionVersion()
    assert parse_version("").place == Cloud4Place()
