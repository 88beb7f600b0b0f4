"""What of a config edge1 would refuse, or fabric cannot do there: told without a call."""

import json

import pytest
from msgspec.structs import replace

from fabric.providers.core.contract import FunctionDraft
from fabric.providers.edge1.client import RateBudget, build_worker_name, build_worker_owner
from fabric.providers.edge1.events import convert_schedule
from fabric.providers.edge1.limits import find_unsupported
from tests.support.orders import address, trigger

GOOD = FunctionDraft("hello", (("runtime", "nodejs"),), variables=("MODE",))


def told(*drafts: FunctionDraft) -> list[str]:
    found = list(find_unsupported(address("edge1-workers"), drafts))
    assert all(one.problem.code == "config/unfit" for one in found)
    return [one.problem.message for one in found]


def cron(schedule: str, timezone: str = "") -> str:
    return json.dumps({"type": "cron", "schedule": schedule, "timezone": timezone})


def test_an_ordinary_function_fits() -> None:
    triggers = (trigger("http", method="GET", path="/"), cron("rate(5 minutes)"))
    settings = (("runtime", "nodejs22.x"), ("memory", "128"), ("timeout", "30"))
    assert told(replace(GOOD, triggers=triggers, settings=settings)) == []


def test_python_is_not_run_there() -> None:
    (message,) = told(replace(GOOD, settings=(("runtime", "python3.12"),)))
    assert (
        message == "function `hello` has the runtime `python3.12`, "
        "and Cloudflare Workers run only JavaScript"
    )


def test_more_memory_than_a_worker_has_is_named() -> None:
    (message,) = told(replace(GOOD, settings=(*GOOD.settings, ("memory", "512"))))
    assert message == "function `hello` has 512 MB of memory; a Worker always has 128"


def test_provisioned_concurrency_is_not_passed_over() -> None:
    (message,) = told(replace(GOOD, provisioned_concurrency=2))
    assert "`provisionedConcurrency`" in message


@pytest.mark.parametrize("told_as", ["(5, None)", "reserved=5"])
def test_reserved_concurrency_is_not_passed_over(told_as: str) -> None:
    (message,) = told(replace(GOOD, settings=(*GOOD.settings, ("concurrency", told_as))))
    assert "`reservedConcurrency`" in message
    unset = replace(GOOD, settings=(*GOOD.settings, ("concurrency", "(None, None)")))
    assert told(unset) == []


def test_more_variables_than_a_worker_takes_are_counted() -> None:
    (message,) = told(replace(GOOD, variables=tuple(f"V{n}" for n in range(129))))
    assert message == "function `hello` has 129 variables; Cloudflare allows 128"


def test_conflicting_resource_names_are_reported() -> None:
    (message,) = told(GOOD, replace(GOOD, name="Hello"))
    assert (
        message
        == "function `Hello` would be the Worker `shop-dev-hello`, which conflicts with `hello`"
    )


def test_a_trigger_that_edge1_does_not_have_is_named_with_its_number() -> None:
    drafts = [replace(GOOD, triggers=(cron("rate(1 hour)"), trigger("storage", bucket="work")))]
    (found,) = find_unsupported(address("edge1-workers"), drafts)
    assert ("`storage`" in found.problem.message, found.trigger) == (True, 1)


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"batchSize": 101}, "at most 100 messages"),
        ({"maximumBatchingWindowSeconds": 61}, "at most 60 seconds"),
        ({"enabled": False}, "disables its queue"),
    ],
)
def test_a_queue_that_cloudflare_cannot_have_is_named(keys: dict[str, int], words: str) -> None:
    (message,) = told(replace(GOOD, triggers=(trigger("queue", queue="work", **keys),)))
    assert words in message


def test_an_authorizer_is_not_passed_over() -> None:
    (message,) = told(replace(GOOD, triggers=(trigger("http", path="/", authorizer="AWS_IAM"),)))
    assert "authorizer" in message


@pytest.mark.parametrize(
    ("schedule", "own"),
    [
        ("rate(1 minute)", "* * * * *"),
        ("rate(5 minutes)", "*/5 * * * *"),
        ("rate(60 minutes)", "0 * * * *"),
        ("rate(1 hour)", "0 * * * *"),
        ("rate(6 hours)", "0 */6 * * *"),
        ("rate(24 hours)", "0 0 * * *"),
        ("rate(1 day)", "0 0 * * *"),
        ("0 9 * * 1-5", "0 9 * * MON,TUE,WED,THU,FRI"),
        ("0 9 * * 0", "0 9 * * SUN"),
        ("0 9 * * 7", "0 9 * * SUN"),
        ("0 9 * * fri-mon", "0 9 * * SUN,MON,FRI,SAT"),
        ("0 9 * * */2", "0 9 * * SUN,TUE,THU,SAT"),
        ("0 9 1,15 jan *", "0 9 1,15 jan *"),
        ("cron(0 12 * * ? *)", "0 12 * * *"),
        ("cron(0 12 ? * 2-6 *)", "0 12 * * MON,TUE,WED,THU,FRI"),
        ("cron(0 12 ? * WED *)", "0 12 * * WED"),
    ],
)
def test_schedule_is_converted_to_five_fields(schedule: str, own: str) -> None:
    assert convert_schedule(schedule) == own


@pytest.mark.parametrize(
    ("schedule", "zone", "why"),
    [
        ("rate(7 minutes)", "", "60 minutes cannot be divided by 7"),
        ("rate(90 minutes)", "", "60 minutes cannot be divided by 90"),
        ("rate(5 hours)", "", "24 hours cannot be divided by 5"),
        ("rate(2 days)", "", "a rate in days is not evenly distributed over a month"),
        ("cron(0 12 * * ? 2030)", "", "five cron fields cannot express the year `2030`"),
        ("cron(0 12 L * ? *)", "", "`L`, `W` or `#`"),
        ("cron(0 12 ? * 2#1 *)", "", "`L`, `W` or `#`"),
        ("0 9 * * *", "Europe/Berlin", "its time zone is `Europe/Berlin`"),
        ("rate(1 day)", "Europe/Berlin", "its time zone is `Europe/Berlin`"),
    ],
)
def test_a_schedule_that_five_fields_cannot_say_is_named(
    schedule: str, zone: str, why: str
) -> None:
    draft = replace(GOOD, triggers=(cron("rate(1 hour)"), cron(schedule, zone)))
    (found,) = find_unsupported(address("edge1-workers"), [draft])
    assert found.trigger == 1
    assert why in found.problem.message
    assert f"`{schedule}`" in found.problem.message


@pytest.mark.parametrize("zone", ["UTC", "Etc/UTC"])
def test_the_zone_of_edge1_itself_fits(zone: str) -> None:
    assert convert_schedule("0 9 * * *", zone) == "0 9 * * *"


def test_a_rate_needs_no_zone() -> None:
    assert convert_schedule("rate(1 hour)", "Europe/Berlin") == "0 * * * *"


def test_long_name_is_shortened_and_stays_unique() -> None:
    long = replace(address("edge1-workers"), service="s" * 63)
    one, other = build_worker_name(long, "hello_there"), build_worker_name(long, "hello_then")
    assert len(one) <= 63
    assert one != other


def test_version_tag_identifies_its_owner_within_the_length_limit() -> None:
    owner, other = (build_worker_owner(address("edge1-workers"), name) for name in ("hello", "bye"))
    tag = owner.tag(f"{'a' * 32}:{'b' * 8}")
    assert len(tag) <= 100
    assert owner.mark_in(tag) == "a" * 32
    assert (other.mark_in(tag), other.is_of(tag)) == ("", False)


def test_calls_are_spread_only_when_few_are_left() -> None:
    budget = RateBudget(now=lambda: 5.0)
    policy = '"default";q=1200;w=300'
    budget.learn({"ratelimit": '"default";r=600;t=100', "ratelimit-policy": policy})
    assert budget.pause() == 0
    budget.learn({"ratelimit": '"default";r=50;t=100', "ratelimit-policy": policy})
    assert [budget.pause() for _ in range(3)] == [0, 2, 4]
    budget.learn({"ratelimit": '"default";r=1199;t=300', "ratelimit-policy": policy})
    assert budget.pause() == 0


def test_headers_that_say_nothing_change_nothing() -> None:
    budget = RateBudget(now=lambda: 5.0)
    budget.learn({})
    budget.learn({"ratelimit": "soon"})
    assert budget.pause() == 0
