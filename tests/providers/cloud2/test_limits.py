"""What of a config cloud2 would refuse, or fabric cannot do there: told without a call."""

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from fabric.providers.cloud2.limits import (
    find_setting_problems,
    find_unsupported,
    find_unsupported_clocks,
)
from fabric.providers.cloud2.revisions import UPDATED, Cloud2Plan, build_function_document
from fabric.providers.cloud2.source import find_source_runtime
from fabric.providers.cloud2.work import (
    Cloud2Settings,
    SecretReference,
    build_function_name,
    mark_in,
    parse_revision,
    place_in,
)
from fabric.providers.core.contract import Artifact, FunctionDraft, FunctionOrder
from fabric.providers.core.ownership import build_owner
from tests.support.orders import address, trigger

GOOD = FunctionDraft("hello", (("runtime", "nodejs"),), variables=("MODE",))
_ADDRESS = address("cloud2-functions")
_BUCKET = {
    "type": "storage",
    "bucket": "files",
    "events": ["objstore1:ObjectCreated:*"],
    "existingBucket": True,
}


def told(*drafts: FunctionDraft, own: Cloud2Settings = Cloud2Settings()) -> list[str]:  # noqa: B008 - frozen
    found = list(find_unsupported(_ADDRESS, own, drafts))
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
    own = Cloud2Settings(service_account="shop@other-project.iam.gserviceaccount.com")
    timed = replace(GOOD, triggers=(trigger("http"), cron("rate(1 hour)")))
    (found,) = find_unsupported_clocks(own, "this-project", (GOOD, timed))
    assert found.trigger == 1
    assert "`this-project`" in found.problem.message
    assert list(find_unsupported_clocks(own, "other-project", (timed,))) == []
    default = Cloud2Settings(service_account="1-compute@developer.gserviceaccount.com")
    assert list(find_unsupported_clocks(default, "this-project", (timed,))) == []


def test_another_architecture_is_not_passed_over() -> None:
    (message,) = told(with_settings(("architecture", "arm64")))
    assert "`arm64`" in message
    assert told(with_settings(("architecture", "x86_64"))) == []


def test_a_function_that_is_off_is_not_passed_over() -> None:
    (message,) = told(with_settings(("concurrency", "reserved=0")))
    assert "`reservedConcurrency: 0`" in message


def test_more_provisioned_than_possible_instances_are_reported() -> None:
    draft = replace(GOOD, provisioned_concurrency=2)
    assert told(draft) == []
    assert told(draft, own=Cloud2Settings(max_instances=2)) == []
    (message,) = told(draft, own=Cloud2Settings(max_instances=1))
    assert "`provisionedConcurrency` to more than its maximum of 1" in message


def test_reserved_concurrency_does_not_fit_instances_with_several_calls() -> None:
    draft = with_settings(("concurrency", "reserved=5"))
    (message,) = told(draft, own=Cloud2Settings(concurrency=80, cpu=1))
    assert "an instance serves 80 calls" in message


def test_variable_and_secret_of_one_name_are_reported() -> None:
    (message,) = told(GOOD, own=Cloud2Settings(secrets={"MODE": SecretReference("mode")}))
    assert message.startswith("function `hello` sets `MODE`, which `extensions.cloud2-functions.")


def test_function_with_routes_cannot_receive_events() -> None:
    draft = replace(GOOD, triggers=(trigger("http", path="/"), trigger("pubsub", topic="work")))
    (message,) = told(draft)
    assert "every user could send it events" in message


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"type": "pubsub"}, "the topic ``"),
        ({"type": "pubsub", "topic": "arn:aws:sns:one"}, "not a valid topic name"),
        ({"type": "pubsub", "topic": "work", "subscription": "mine"}, "`subscription`"),
        ({"type": "storage", "existingBucket": False}, "does not create buckets"),
        ({"type": "storage", "events": ["objstore1:ObjectTagging:*"]}, "does not have"),
    ],
)
def test_part_of_an_event_trigger_that_google_does_not_have_is_reported(
    fields: dict[str, object], why: str
) -> None:
    fields = _BUCKET | fields if fields["type"] == "storage" else fields
    (message,) = told(replace(GOOD, triggers=(json.dumps(fields),)))
    assert why in message


def test_topics_and_buckets_fit() -> None:
    whole = trigger("pubsub", topic="projects/other/topics/work")
    events = ["objstore1:ObjectCreated:*", "objstore1:ObjectRemoved:*"]
    bucket = json.dumps(_BUCKET | {"events": events})
    assert told(replace(GOOD, triggers=(whole, bucket, cron("rate(1 hour)")))) == []


@pytest.mark.parametrize(
    ("own", "key"),
    [
        (Cloud2Settings(vpc_egress="all-traffic"), "vpcEgress"),
        (Cloud2Settings(concurrency=2), "concurrency"),
        (Cloud2Settings(secrets={"PORT": SecretReference("port")}), "secrets"),
    ],
)
def test_invalid_service_setting_is_reported_with_its_config_keys(
    own: Cloud2Settings, key: str
) -> None:
    (found,) = find_setting_problems(own)
    assert found.keys == ("extensions", "cloud2-functions", key)


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


@pytest.mark.parametrize("kind", ["queue", "eventbus"])
def test_a_trigger_that_fabric_does_not_make_there_is_named_with_its_number(kind: str) -> None:
    draft = replace(GOOD, triggers=(cron("rate(1 hour)"), trigger(kind)))
    (found,) = find_unsupported(_ADDRESS, Cloud2Settings(), [draft])
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
    (found,) = find_unsupported(
        _ADDRESS, Cloud2Settings(), [replace(GOOD, triggers=(cron(schedule),))]
    )
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
    (found,) = find_setting_problems(Cloud2Settings(service_account="shop"))
    assert found.keys == ("extensions", "cloud2-functions", "serviceAccount")
    good = Cloud2Settings(service_account="shop@p.iam.gserviceaccount.com")
    assert not list(find_setting_problems(good))


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


def test_a_config_without_newer_settings_updates_the_same_fields_as_before() -> None:
    """Everything else that is set manually is kept."""
    order = FunctionOrder("hello", Artifact(Path("a.zip"), "", 0, "index.handler", "nodejs22.x"))
    plan = Cloud2Plan(order, "hello", build_owner(_ADDRESS, "hello"), mark_in("a:b:c"))
    assert plan.update_mask == ",".join(UPDATED)
    document = build_function_document(plan, {})
    assert document["labels"] == {"fabric-owner": plan.owner.label}
    assert document["serviceConfig"] == {
        "environmentVariables": {"FABRIC_MARK": "a:b:c"},
        "allTrafficOnLatestRevision": False,
        "maxInstanceRequestConcurrency": 1,
    }
    given = replace(plan, own=Cloud2Settings(cpu=2), settings_before=frozenset(("vpcConnector",)))
    more = "serviceConfig.availableCpu,serviceConfig.vpcConnector"
    assert given.update_mask == f"{plan.update_mask},{more}"
