"""What cloud1 answers instead of doing as asked: waited for, told, or found by the next run."""

from typing import Any

import pytest
from msgspec.structs import replace

from fabric.model.problems import FabricError, Problem
from fabric.model.records.changes import FunctionUnsure, apply_change
from fabric.providers.core.retry import RetryPolicy
from tests.support.cloud1_site import Cloud1Site, changing, make_queue
from tests.support.orders import HTTP, trigger

pytestmark = pytest.mark.slow

_EVERY_HOUR = trigger("cron", schedule="rate(1 hour)")
_FROM_QUEUE = trigger("queue", queue="work")
_STATEMENT = {"effect": "Allow", "actions": ["sqs:*"], "resources": ["*"]}
_REFUSED = {"status": 400, "code": "InvalidParameterValueException"}


def failing(site: Cloud1Site, *triggers: str, word: str = "one") -> Problem:
    with pytest.raises(FabricError) as found:
        site.up(site.order("hello", *triggers, word=word))
    (problem,) = found.value.problems
    return problem


def said(site: Cloud1Site) -> str:
    assert site.record is not None
    return site.cloud1.http_get(site.record.endpoint + "/hello").text


def test_next_deploy_cleans_up_a_failed_release(site: Cloud1Site) -> None:
    make_queue(site.cloud1)
    site.up(site.order("hello", HTTP))
    site.cloud1.fault("lambda.CreateEventSourceMapping", **_REFUSED)
    failing(site, HTTP, _EVERY_HOUR, _FROM_QUEUE)
    assert len(site.cloud1.left()["rules"]) == 1
    site.up(site.order("hello", HTTP))
    assert "rules" not in site.cloud1.left()


def test_removal_deletes_resources_of_a_failed_release(site: Cloud1Site) -> None:
    make_queue(site.cloud1)
    site.cloud1.fault("lambda.CreateEventSourceMapping", **_REFUSED)
    site.extension["iam"] = {"role": {"statements": [_STATEMENT]}}
    failing(site, HTTP, _EVERY_HOUR, _FROM_QUEUE)
    site.deploy(site.order("hello"))
    site.dissolve()
    assert site.cloud1.left() == {}


def test_deploy_after_a_failed_release_restores_the_previous_version(site: Cloud1Site) -> None:
    make_queue(site.cloud1)
    before = site.order("hello", HTTP)
    site.up(before)
    site.cloud1.fault("lambda.CreateEventSourceMapping", **_REFUSED)
    failing(site, HTTP, _FROM_QUEUE, word="two")
    assert said(site) == "two"
    site.up(before)
    assert said(site) == "one"


def test_a_function_that_was_never_made_is_passed_over(site: Cloud1Site) -> None:
    site.up(site.order("hello", HTTP))
    assert site.record is not None
    site.record = apply_change(site.record, FunctionUnsure("deploy", "bye"))
    site.release(["hello", "bye"])
    assert said(site) == "one"
    site.dissolve()
    assert site.cloud1.left() == {}


def test_a_role_that_was_just_made_is_waited_for(site: Cloud1Site) -> None:
    site.cloud1.role_is_slow(3)
    site.up(site.order("hello", HTTP))
    assert said(site) == "one"
    assert site.cloud1.calls()["lambda.CreateFunction"] == 4


def test_unassumable_role_is_reported_with_a_hint(site: Cloud1Site) -> None:
    site.waiting = RetryPolicy(base=0.001, cap=0.001, most=0.01)
    site.cloud1.role_is_slow(1000)
    problem = failing(site, HTTP)
    assert problem.code == "provider/role"
    assert "20 to 60 seconds" in problem.hint


@pytest.mark.parametrize(
    ("operation", "words"),
    [
        (
            "lambda.CreateEventSourceMapping",
            "The provided execution role does not have permissions to call ReceiveMessage on SQS",
        ),
        (
            "s3.PutBucketNotificationConfiguration",
            "Unable to validate the following destination configurations",
        ),
    ],
    ids=["rights", "bucket"],
)
def test_eventually_consistent_resources_are_retried(
    site: Cloud1Site, operation: str, words: str
) -> None:
    make_queue(site.cloud1)
    bucket = f"uploads-{site.cloud1.account}"
    asked = trigger("storage", bucket=bucket, events=["objstore1:ObjectCreated:*"])
    site.cloud1.fault(operation, times=2, message=words, **_REFUSED)
    site.up(site.order("hello", _FROM_QUEUE, asked))
    assert site.cloud1.calls()[operation] == 3


@pytest.mark.parametrize("login", ["expired", "unknown", "denied"])
@pytest.mark.parametrize(
    "operation", ["lambda.GetFunction", "events.PutRule", "iam.PutRolePolicy", "sqs.GetQueueUrl"]
)
def test_refused_credentials_are_reported_without_retry(
    site: Cloud1Site, operation: str, login: str
) -> None:
    make_queue(site.cloud1)
    site.extension["iam"] = {"role": {"statements": [_STATEMENT]}}
    site.cloud1.fault(operation, login=login, times=1000)
    assert failing(site, _EVERY_HOUR, _FROM_QUEUE).code == "credentials/refused"
    assert site.cloud1.calls()[operation] == 1


def test_a_throttled_account_gets_there(site: Cloud1Site) -> None:
    site.cloud1.throttle(every=4)
    site.up(site.order("hello", HTTP, _EVERY_HOUR))
    assert said(site) == "one"
    left = {kind: len(names) for kind, names in site.cloud1.left().items()}
    assert left == {"apis": 1, "functions": 1, "rules": 1}
    assert 429 in {status for _, status in site.cloud1.answers()}


def test_rule_with_a_refused_target_fails_the_release(site: Cloud1Site) -> None:
    site.up(site.order("hello", HTTP))
    client = site.cloud1.client("lambda")
    site.deploy(site.order("hello", HTTP, _EVERY_HOUR))
    events = site.deployer.connect("").of("events")

    def delete(**_: object) -> None:
        client.delete_alias(FunctionName="shop-dev-hello", Name="live")

    events.meta.events.register("before-call.events.PutTargets", delete)
    with pytest.raises(FabricError, match="cannot add the target"):
        site.release(["hello"])


@pytest.mark.parametrize("operation", ["events.PutRule", "events.PutTargets"])
def test_concurrent_rule_modification_is_retried(site: Cloud1Site, operation: str) -> None:
    code = "ConcurrentModificationException"
    site.cloud1.fault(operation, status=400, code=code, times=2)
    site.up(site.order("hello", _EVERY_HOUR))
    assert changing(site.cloud1)[operation] == 3


def test_no_message_shows_a_value(site: Cloud1Site) -> None:
    value = "hidden-from-everybody"
    site.cloud1.fault("lambda.CreateFunction", message=f"bad: {value}", **_REFUSED)
    with pytest.raises(FabricError) as found:
        site.up(site.order("hello", HTTP, DB_PASSWORD=value))
    texts: list[Any] = [(one.message, one.hint) for one in found.value.problems]
    assert value not in repr(texts)


def test_a_value_that_is_marked_secret_is_hidden_under_any_name(site: Cloud1Site) -> None:
    word = "word-of-the-shop"
    site.cloud1.fault("lambda.CreateFunction", message=f"not this: {word}", **_REFUSED)
    with pytest.raises(FabricError) as found:
        site.deploy(replace(site.order("hello", HINT=word), secret=frozenset(["HINT"])))
    assert "not this: [REDACTED]" in found.value.first.message


def test_a_log_that_was_cut_begins_with_a_whole_line(site: Cloud1Site) -> None:
    source = """export const handler = async () => {
        for (let one = 0; one < 200; one += 1) console.log(`line ${one} ${"x".repeat(30)}`);
        return "done";
    };"""
    site.up(site.order("hello", source=source))
    answer = site.deployer.call(site.address(site.record), site.live("hello"), b"{}")
    first = answer.logs.splitlines()[0]
    assert first.startswith("line ")
    assert first.endswith("x" * 30)


def test_deleted_api_is_reported_as_missing(site: Cloud1Site) -> None:
    site.up(site.order("hello", HTTP))
    address = site.address(site.record)
    assert site.deployer.missing(address, site.lives()) == ()
    api = site.known().endpoint.rpartition("/")[2]
    site.cloud1.client("apigatewayv2").delete_api(ApiId=api)
    assert site.deployer.missing(address, site.lives()) == (f"the HTTP API `{api}`",)
    site.up(site.order("hello", HTTP), force=True)
    assert site.deployer.missing(site.address(site.record), site.lives()) == ()


def test_role_wait_is_shared_by_all_functions(site: Cloud1Site) -> None:
    for name, counted in (("first", False), ("second", True)):
        site.cloud1.reset()
        site.cloud1.role_is_slow(1000)
        with pytest.raises(FabricError) as found:
            site.deploy(site.order(name))
        assert found.value.first.code == "provider/role"
        assert (site.cloud1.calls()["lambda.CreateFunction"] == 1) is counted
