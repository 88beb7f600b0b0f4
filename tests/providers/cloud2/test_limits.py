"""What of a config cloud2 would refuse, or fabric cannot do there: told without a call."""

import json

import pytest
from msgspec.structs import replace

from fabric.providers.cloud2.limits import (
    find_setting_problems,
    find_unsupported,
    find_unsupported_clocks,
)
from fabric.providers.cloud2.source import find_source_runtime
from fabric.providers.cloud2.work import (
    Cloud2Settings,
    build_function_name,
    mark_in,
    parse_revision,
    place_in,
)
from fabric.providers.core.contract import FunctionDraft
from fabric.providers.core.ownership import build_owner
from tests.support.orders import address, trigger

GOOD = FunctionDraft("hello", (("runtime", "nodejs"),), variables=("MODE",))
_ADDRESS = address("cloud2-functions")


def told(*drafts: FunctionDraft) -> list[str]:
    found = list(find_unsupported(_ADDRESS, drafts))
    assert all(one.problem.code == "config/unfit" for one in found)
    return [one.problem.message for one in found]


def cron(schedule: str, timezone: str = "") -> str:
    return json.dumps({"type": "cron", "schedule": schedule, "timezone": timezone})


def with_settings(*settings: tuple[str, str]) -> FunctionDraft:
    return replace(GOOD, settings=(*GOOD.settings, *settings))


def test_an_ordinary_function_fits() -> None:
    http = trigger("http", method="GET", path="/{id}", cors=True)
    triggers = (http, cron("rate(5 minutes)"), cron("0 9 * * 1", "Europe/Berlin"))
    settings = (("memory", "512"), ("timeout", "30"), ("concurrency", "reserved=5"))
    assert told(replace(with_settings(*settings), triggers=triggers)) == []


@pytest.mark.parametrize(
    ("runtime", "own"),
    [
        ("nodejs", "nodejs22"),
        ("nodejs20.x", "nodejs20"),
        ("nodejs24.x", "nodejs24"),
        ("python", "python312"),
        ("python3.11", "python311"),
        ("python3.14", "python314"),
    ],
)
def test_a_runtime_has_the_name_that_cloud2_gives_it(runtime: str, own: str) -> None:
    found = find_source_runtime(runtime)
    assert found is not None
    assert found.id == own


@pytest.mark.parametrize("runtime", ["nodejs18.x", "nodejs16.x", "python3.8", "ruby3.3"])
def test_a_runtime_that_cloud2_does_not_have_is_named(runtime: str) -> None:
    (message,) = told(replace(GOOD, settings=(("runtime", runtime),)))
    assert message == (
        f"function `hello` has the runtime `{runtime}`, which Google Cloud does not support"
    )


def test_retired_google_runtime_is_refused() -> None:
    """What was made with it is still there, and can be gone back to."""
    (message,) = told(replace(GOOD, settings=(("runtime", "nodejs20.x"),)))
    assert "`nodejs20.x`" in message
    assert "2026-10-30" in message


def test_scheduler_account_must_belong_to_the_project() -> None:
    own = Cloud2Settings("shop@other-project.iam.gserviceaccount.com")
    timed = replace(GOOD, triggers=(trigger("http"), cron("rate(1 hour)")))
    (found,) = find_unsupported_clocks(own, "this-project", (GOOD, timed))
    assert found.trigger == 1
    assert "`this-project`" in found.problem.message
    assert list(find_unsupported_clocks(own, "other-project", (timed,))) == []
    default = Cloud2Settings("1-compute@developer.gserviceaccount.com")
    assert list(find_unsupported_clocks(default, "this-project", (timed,))) == []


def test_another_architecture_is_not_passed_over() -> None:
    (message,) = told(with_settings(("architecture", "arm64")))
    assert "`arm64`" in message
    assert told(with_settings(("architecture", "x86_64"))) == []


def test_a_function_that_is_off_is_not_passed_over() -> None:
    (message,) = told(with_settings(("concurrency", "reserved=0")))
    assert "`reservedConcurrency: 0`" in message


def test_provisioned_concurrency_is_not_passed_over() -> None:
    (message,) = told(replace(GOOD, provisioned_concurrency=2))
    assert "`provisionedConcurrency`" in message


@pytest.mark.parametrize("name", ["PORT", "K_SERVICE", "FABRIC_MARK", "X_GOOGLE_WORD"])
def test_a_variable_that_its_runtime_sets_is_named(name: str) -> None:
    (message,) = told(replace(GOOD, variables=("MODE", name)))
    assert message == f"function `hello` sets `{name}`, which the runtime reserves"


def test_tag_that_is_not_a_valid_label_is_reported() -> None:
    messages = told(replace(GOOD, tags=(("team", "shop"), ("Team", "shop"), ("cost", "a b"))))
    assert messages == [
        "function `hello` has the tag `Team: shop`, which is not a valid Google Cloud label",
        "function `hello` has the tag `cost: a b`, which is not a valid Google Cloud label",
    ]


@pytest.mark.parametrize("kind", ["queue", "storage", "pubsub", "eventbus"])
def test_a_trigger_that_fabric_does_not_make_there_is_named_with_its_number(kind: str) -> None:
    draft = replace(GOOD, triggers=(cron("rate(1 hour)"), trigger(kind)))
    (found,) = find_unsupported(_ADDRESS, [draft])
    assert (f"`{kind}`" in found.problem.message, found.trigger) == (True, 1)


def test_an_authorizer_is_not_passed_over() -> None:
    (message,) = told(replace(GOOD, triggers=(trigger("http", path="/", authorizer="AWS_IAM"),)))
    assert "authorizer" in message


@pytest.mark.parametrize(
    ("schedule", "why"),
    [
        ("rate(7 minutes)", "60 minutes cannot be divided by 7"),
        ("rate(2 days)", "a rate in days is not evenly distributed over a month"),
        ("cron(0 12 * * ? 2030)", "five cron fields cannot express the year `2030`"),
        ("cron(0 12 L * ? *)", "`L`, `W` or `#`"),
    ],
)
def test_a_schedule_that_five_fields_cannot_say_is_named(schedule: str, why: str) -> None:
    (found,) = find_unsupported(_ADDRESS, [replace(GOOD, triggers=(cron(schedule),))])
    assert found.trigger == 0
    assert why in found.problem.message


def test_more_time_than_a_clock_waits_is_named() -> None:
    draft = replace(with_settings(("timeout", "1801")), triggers=(cron("rate(1 hour)"),))
    (message,) = told(draft)
    assert message == (
        "function `hello` has a timeout of 1801 s and a schedule; "
        "Cloud Scheduler waits at most 1,800 s"
    )
    assert told(replace(draft, triggers=())) == []


def test_invalid_service_account_is_reported_with_its_config_keys() -> None:
    (found,) = find_setting_problems(Cloud2Settings("shop"))
    assert found.keys == ("extensions", "cloud2-functions", "serviceAccount")
    assert not list(find_setting_problems(Cloud2Settings("shop@p.iam.gserviceaccount.com")))


def test_conflicting_resource_names_are_reported() -> None:
    (message,) = told(GOOD, replace(GOOD, name="Hello"))
    assert message == (
        "function `Hello` would be named `shop-dev-hello` at Google Cloud, "
        "which conflicts with `hello`"
    )


def test_a_name_begins_with_a_letter_and_is_not_too_long() -> None:
    assert build_function_name(replace(_ADDRESS, service="9lives"), "Hello_you") == (
        "f-9lives-dev-hello-you"
    )
    long = replace(_ADDRESS, service="s" * 63)
    one, other = build_function_name(long, "hello_there"), build_function_name(long, "hello_then")
    assert max(len(one), len(other)) <= 49
    assert one != other


def test_job_description_identifies_its_owner() -> None:
    owner, other = (build_owner(_ADDRESS, name) for name in ("hello", "bye"))
    assert owner.is_in(owner.describe())
    assert not other.is_in(owner.describe())


def test_ids_that_say_nothing_are_empty() -> None:
    assert (parse_revision("f"), place_in("f"), mark_in("x").mark) == ("", None, "")
