"""What of a config Azure would refuse, or fabric cannot do there: told without a call."""

import pytest
from msgspec.structs import replace

from fabric.providers.cloud3.client import Cloud3Settings
from fabric.providers.cloud3.hosting import FLEX, HOSTINGS
from fabric.providers.cloud3.limits import find_unsupported
from fabric.providers.cloud3.package import choose_memory
from fabric.providers.cloud3.triggers import convert_route, convert_schedule
from fabric.providers.core.contract import FunctionDraft
from tests.support.orders import HTTP, address, trigger

GOOD = FunctionDraft("hello", (("runtime", "nodejs"),), (HTTP,), variables=("MODE",))
OWN = Cloud3Settings()


def told(*drafts: FunctionDraft, own: Cloud3Settings = OWN, region: str = "") -> list[str]:
    found = find_unsupported(own, address("cloud3-functions", region=region), drafts)
    return [one.problem.message for one in found]


def with_settings(**settings: str) -> FunctionDraft:
    return replace(GOOD, settings=tuple({"runtime": "nodejs", **settings}.items()))


def with_trigger(kind: str, **fields: object) -> FunctionDraft:
    return replace(GOOD, triggers=(trigger(kind, **fields),))


def test_an_ordinary_service_fits() -> None:
    clock = trigger("cron", schedule="0 12 * * 1-5", timezone="UTC")
    bye = replace(GOOD, name="bye", triggers=(clock, trigger("queue", queue="my-jobs")))
    assert told(with_settings(memory="512", timeout="60"), bye, region="westeurope") == []


@pytest.mark.parametrize(
    ("draft", "words"),
    [
        (with_trigger("eventbus", bus="b"), "a trigger of type `eventbus`"),
        (with_trigger("storage", bucket="pictures"), "does not create containers at Azure"),
        (with_trigger("storage", bucket="my_pictures", existingBucket=True), "not the name of a"),
        (
            with_trigger(
                "storage", bucket="pics", existingBucket=True, events=["objstore1:ObjectRestore:*"]
            ),
            "subscribes to `objstore1:ObjectRestore:*`, which Azure does not have",
        ),
        (with_trigger("cron", schedule="rate(7 minutes)"), "rate(7 minutes)"),
        (with_trigger("cron", schedule="0 1 * * *", timezone="Europe/Berlin"), "Europe/Berlin"),
        (with_trigger("queue", queue="arn:aws:sqs:eu:1:jobs"), "not the name of a queue"),
        (with_trigger("queue", queue="jobs", enabled=False), "disabled queue trigger"),
        (with_trigger("http", authorizer="x"), "has an authorizer"),
        (with_trigger("http", path="/administrators"), "reserves paths"),
        (with_settings(timeout="300"), "ends requests after 230 s"),
        (with_settings(runtime="nodejs18.x"), "which Azure does not offer"),
        (with_settings(runtime="go1.x"), "which Azure does not offer"),
        (with_settings(architecture="arm64"), "amd64 only"),
        (with_settings(memory="8192"), "the maximum of the Flex Consumption plan is 4096"),
        (replace(with_settings(timeout="2000"), triggers=()), "fabric allows 1800 s"),
        (replace(GOOD, name="a--1"), "a name that Azure does not allow"),
        (with_settings(package="image"), "is packaged as an image"),
        (replace(GOOD, name="host"), "a name that Azure does not allow"),
        (replace(GOOD, name="1st"), "a name that Azure does not allow"),
        (replace(GOOD, variables=("WEBSITE_NODE",)), "the variable `WEBSITE_NODE`"),
        (replace(GOOD, variables=("FABRIC_X",)), "the variable `FABRIC_X`"),
        (replace(GOOD, tags=(("team", "a"),)), "has the tag `team`"),
        (replace(GOOD, provisioned_concurrency=2), "sets `provisionedConcurrency`"),
    ],
)
def test_an_unsupported_setting_is_told(draft: FunctionDraft, words: str) -> None:
    (message,) = told(draft)
    assert words in message


@pytest.mark.parametrize(
    ("own", "draft", "words"),
    [
        (Cloud3Settings(sku="Y1"), with_settings(memory="2048"), "the Consumption plan is 1536"),
        (Cloud3Settings(sku="Y1"), replace(with_settings(timeout="600"), triggers=()), "590 s on"),
        (Cloud3Settings(sku="EP2"), with_settings(memory="8192"), "the Premium plan is 7168"),
        (Cloud3Settings(maximum_instances=10), GOOD, "not allowed for the Flex Consumption plan"),
        (Cloud3Settings(sku="EP1", maximum_instances=200), GOOD, "not allowed for the Premium"),
    ],
)
def test_limits_are_those_of_the_plan(
    own: Cloud3Settings, draft: FunctionDraft, words: str
) -> None:
    (message,) = told(draft, own=own)
    assert words in message


def test_names_of_the_app_and_the_account_are_checked() -> None:
    own = Cloud3Settings(app_name="-shop", storage_account="My-Account")
    (region, app, account) = told(GOOD, own=own, region="West Europe")
    assert region == "`West Europe` is not an Azure region"
    assert "appName` is not the name of a function app" in app
    assert "storageAccount` is not the name of a storage account" in account


def test_functions_that_differ_in_case_or_runtime_are_told() -> None:
    other = replace(with_settings(runtime="python3.12"), name="Hello", triggers=())
    (runtime, name) = told(GOOD, other)
    assert "share the runtime of a function app" in runtime
    assert "conflicts with `hello`" in name


def test_one_route_of_two_functions_is_told() -> None:
    other = replace(GOOD, name="bye")
    (message,) = told(GOOD, other)
    assert "matches the same requests as `GET /hello` of `hello`" in message


@pytest.mark.parametrize(
    ("path", "route"),
    [
        ("/", "/"),
        ("/hello", "hello"),
        ("/things/{id}/", "things/{p1}"),
        ("/files/{path+}", "files/{*p1}"),
        ("$default", "{*rest}"),
    ],
)
def test_a_path_is_a_route_of_azure(path: str, route: str) -> None:
    assert convert_route(path) == route


@pytest.mark.parametrize(
    ("schedule", "found"),
    [
        ("rate(5 minutes)", "0 */5 * * * *"),
        ("rate(1 day)", "0 0 0 * * *"),
        ("cron(0 12 ? * MON *)", "0 0 12 * * MON"),
    ],
)
def test_a_schedule_has_six_fields(schedule: str, found: str) -> None:
    assert convert_schedule(schedule, "") == found


def test_the_memory_is_a_size_of_azure() -> None:
    assert [choose_memory(HOSTINGS[FLEX], one) for one in ([], [0], [128], [600, 512], [3000])] == [
        2048,
        2048,
        512,
        2048,
        4096,
    ]
