"""Functions of another tool at AWS are adopted while they serve, and released again."""

import threading
from typing import Any

import pytest

from tests.support.cloud1_shop import EVERY_HOUR, FROM_QUEUE, Shop
from tests.support.cloud1_site import changing
from tests.support.other_tool import OtherTool
from tests.support.until import until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(90)]


def rows(done: Any, action: str) -> list[tuple[str, str]]:
    return [(one["kind"], one["name"]) for one in done.result["parts"] if one["action"] == action]


def test_an_adopted_function_is_updated_by_the_next_deploy(shop: Shop, other: OtherTool) -> None:
    arn = other.deploys("hello", "old", MemorySize=256)
    other.serves(arn, "/hello")
    other.owns()
    assert shop.run("deploy").error["code"] == "deploy/foreign"

    before = other.describe("hello")["Configuration"]["RevisionId"]
    done = shop.run("adopt")
    assert done.code == 0, done.out + done.err
    api = other.resources["HttpApi"]["id"]
    assert rows(done, "take") == [("function", "shop-dev-hello"), ("HTTP API", api)]
    assert done.result["stacks"] == ["shop-dev"]
    found = other.describe("hello", "live")
    assert found["Tags"]["fabric:function"] == "hello"
    assert found["Tags"]["STAGE"] == "dev"
    assert found["Configuration"]["Version"] == "1"
    assert other.describe("hello")["Configuration"]["RevisionId"] == before

    plan = shop.project.fabric("plan", env=shop.env).out
    assert "~ hello" in plan
    assert "memory: 256 -> provider default" in plan
    assert "timeout" not in plan
    shop.ran("deploy")
    assert (shop.said("hello"), shop.cloud1.http_get(other.url).text) == ("new", "new")
    assert shop.ran("deploy") == {}
    assert shop.run("adopt").result["functions"] == []
    shop.ran("rollback")
    assert (shop.said("hello"), shop.cloud1.http_get(other.url).text) == ("old", "old")


def test_a_stack_that_would_delete_the_function_is_refused(shop: Shop, other: OtherTool) -> None:
    arn = other.deploys("hello", "old")
    other.serves(arn, "/hello")
    other.owns(retained=False)
    shop.cloud1.reset()
    done = shop.run("adopt")
    assert (done.code, done.error["code"]) == (1, "adopt/not-retained")
    said = shop.project.fabric("adopt", env=shop.env)
    assert "aws cloudformation update-stack --stack-name shop-dev" in said.out
    assert "HelloLambdaFunction" in said.err
    assert "HttpApi" not in said.err
    assert changing(shop.cloud1) == {}
    assert shop.run("state", "list").result["records"] == []

    other.resources["ServerlessDeploymentBucket"] = {"Type": "AWS::S3::Bucket", "id": "bucket"}
    other.owns(retained=False)
    assert shop.run("adopt", "--dry-run").code == 0
    said = shop.project.fabric("adopt", "--dry-run", env=shop.env)
    assert "serverless deploy --stage dev" in said.out
    assert changing(shop.cloud1) == {}


@pytest.fixture
def fed(shop: Shop, other: OtherTool) -> str:
    """A function with an API, a queue and two schedules, of which the config has one. Returns its
    ARN."""
    arn = other.deploys("hello", "old")
    other.feeds(arn)
    other.schedules(arn)
    other.schedules(arn, "rate(2 hours)", "unknown-rule")
    other.serves(arn, "/hello")
    other.owns()
    shop.has("hello", "new", EVERY_HOUR, FROM_QUEUE)
    return arn


def test_event_sources_move_to_the_alias_and_back(shop: Shop, other: OtherTool, fed: str) -> None:
    before = other.describe("hello")
    done = shop.run("adopt", "--stack", "shop-dev")
    assert done.code == 0, done.out + done.err
    assert ("rule", "unknown-rule") in rows(done, "keep")
    assert target(shop, "old-rule") == ("theirs", f"{fed}:live")
    assert target(shop, "unknown-rule") == ("theirs", fed)
    assert other.source == f"{fed}:live"
    shop.cloud1.fire_rule("old-rule")

    done = shop.run("adopt", "--release")
    assert done.code == 0, done.out + done.err
    assert target(shop, "old-rule") == ("theirs", fed)
    assert other.source == fed
    assert shop.cloud1.http_get(other.url).text == "old"
    after = other.describe("hello")
    assert (after["Tags"], after["Configuration"]) == (before["Tags"], before["Configuration"])
    assert other.functions.list_aliases(FunctionName=fed)["Aliases"] == []
    assert shop.run("state", "list").result["records"] == []


def test_a_deploy_replaces_moved_rules_and_keeps_moved_queues(shop: Shop, fed: str) -> None:
    shop.run("adopt")
    shop.ran("deploy")
    left = shop.cloud1.left()
    assert [one for one in left["rules"] if "old-rule" in one] == []
    assert len(left["rules"]) == 2
    assert left["mappings"] == [f"arn:aws:sqs:us-east-1:{shop.cloud1.account}:work {fed}:live"]
    assert shop.run("adopt", "--release").error["code"] == "adopt/deployed"
    shop.ran("remove", "--yes")
    assert shop.cloud1.left()["rules"] == ["default/unknown-rule"]


def target(shop: Shop, rule: str) -> tuple[str, str]:
    [one] = shop.cloud1.client("events").list_targets_by_rule(Rule=rule)["Targets"]
    assert one["Input"] == '{"from": "them"}'
    return one["Id"], one["Arn"]


def test_an_interrupted_adoption_continues(shop: Shop, other: OtherTool) -> None:
    for name in ("hello", "bye"):
        other.deploys(name, "old")
        shop.has(name, "new")
    other.owns()
    shop.cloud1.fault(
        "lambda.TagResource", skip=1, status=400, code="InvalidParameterValueException"
    )
    done = shop.run("adopt")
    assert done.code == 1
    assert done.error["code"] == "provider/refused"
    done = shop.run("adopt")
    assert done.code == 0, done.out + done.err
    assert len(done.result["functions"]) == 1
    kept = shop.run("state", "show").result
    assert kept["lifecycle"] == "deployed"
    assert [one["name"] for one in kept["functions"]] == ["bye", "hello"]
    versions = other.functions.list_versions_by_function(FunctionName="shop-dev-hello")
    assert [one["Version"] for one in versions["Versions"]] == ["$LATEST", "1"]


def test_a_killed_adoption_continues(shop: Shop, other: OtherTool) -> None:
    other.deploys("hello", "old")
    other.owns()
    shop.cloud1.reset()
    shop.cloud1.throttle(per_second=5)
    process = shop.start("adopt", "--json")
    until(lambda: "lambda.PublishVersion" in shop.cloud1.calls())
    process.kill()
    process.communicate()
    shop.cloud1.reset()
    assert "functions" in shop.run("state", "show").result
    done = shop.run("adopt", "--lock-timeout", "30s")
    assert done.code == 0, done.out + done.err
    record = shop.run("state", "show").result
    assert (record["lifecycle"], record["pending"]) == ("deployed", [])
    assert "doubt" not in shop.run("state", "pull").out
    assert shop.run("adopt", "--release").code == 0


def test_equal_functions_are_up_to_date(shop: Shop, other: OtherTool) -> None:
    shop.ran("deploy")
    shop.ran("state", "rm", "--yes")
    assert shop.run("adopt").result["functions"] == ["hello"]
    plan = shop.project.fabric("plan", env=shop.env).out
    assert "0 to create, 0 to update" in plan
    calls = shop.ran("deploy")
    assert "lambda.UpdateFunctionCode" not in calls
    assert "lambda.PublishVersion" not in calls
    assert shop.said("hello") == "new"
    del other


def test_a_simulated_deploy_does_not_make_a_function_own(shop: Shop, other: OtherTool) -> None:
    shop.write()
    assert shop.project.json("deploy", env=shop.cloud1.environment).code == 0
    other.deploys("hello", "old")
    assert shop.run("deploy").error["code"] == "deploy/foreign"
    assert shop.run("adopt").code == 0
    assert shop.run("outputs").result["services"][0]["outputs"] == {}
    shop.ran("deploy")
    assert shop.said("hello") == "new"


def test_functions_of_another_service_are_refused(shop: Shop, other: OtherTool) -> None:
    tags = {"fabric:service": "cart", "fabric:stage": "dev", "fabric:function": "hello"}
    other.deploys("hello", "old", Tags=tags)
    shop.cloud1.reset()
    assert shop.run("adopt").error["code"] == "deploy/foreign"
    assert changing(shop.cloud1) == {}


def test_bad_requests_are_explained(shop: Shop, other: OtherTool) -> None:
    assert shop.run("adopt").error["code"] == "adopt/not-found"
    other.deploys("hello", "old")
    assert shop.run("adopt", "--stack", "none").error["code"] == "adopt/unknown-stack"
    done = shop.project.json("adopt", env=shop.cloud1.environment)
    assert done.error["code"] == "adopt/not-real"
    assert shop.run("adopt", "--release").error["code"] == "adopt/not-adopted"


def test_an_alias_of_the_other_tool_stays(shop: Shop, other: OtherTool) -> None:
    arn = other.deploys("hello", "old", Publish=True)
    other.functions.create_alias(FunctionName=arn, Name="live", FunctionVersion="1")
    assert shop.run("adopt").code == 0
    assert shop.run("state", "show").result["functions"][0]["resourceId"] == f"{arn}:1"
    assert shop.run("adopt", "--release").code == 0
    assert other.functions.get_alias(FunctionName=arn, Name="live")["FunctionVersion"] == "1"


_CALLS = 200


def test_a_plan_names_what_stays_and_what_is_done_by_hand(shop: Shop, other: OtherTool) -> None:
    arn = other.deploys("hello", "old", Publish=True)
    other.serves(arn, "/hello")
    other.permits(arn, "s3.amazonaws.com", "arn:aws:s3:::uploads")
    other.permits(arn, "sns.amazonaws.com", f"arn:aws:sns:us-east-1:{shop.cloud1.account}:news")
    rest = f"arn:aws:execute-api:us-east-1:{shop.cloud1.account}:resty/*"
    other.permits(arn, "apigateway.amazonaws.com", rest)
    other.resources["Url"] = {"Type": "AWS::Lambda::Url", "id": "the-url"}
    other.owns()
    shop.has(
        "hello", "new", "{type: storage, bucket: uploads, events: ['objstore1:ObjectCreated:*']}"
    )
    shop.has("bye", "new")
    done = shop.run("adopt", "--dry-run")
    assert done.code == 0, done.out + done.err
    assert rows(done, "manual") == [("bucket", "uploads")]
    assert set(rows(done, "keep")) == {
        ("topic", "news"),
        ("API", "resty"),
        ("function URL", "the-url"),
    }
    assert ("function", "shop-dev-bye") in rows(done, "create")

    weights = {"AdditionalVersionWeights": {"2": 0.5}}
    other.functions.update_function_configuration(FunctionName=arn, MemorySize=512)
    other.functions.get_waiter("function_updated_v2").wait(FunctionName=arn)
    other.functions.publish_version(FunctionName=arn)
    other.functions.create_alias(
        FunctionName=arn, Name="live", FunctionVersion="1", RoutingConfig=weights
    )
    assert shop.run("adopt", "--dry-run").error["code"] == "adopt/busy"


class Traffic:
    """Calls of a client, 50 in a second, until it ends and has made enough. It begins with an
    answer."""

    def __init__(self, shop: Shop, url: str) -> None:
        self.answers: list[str] = []
        self._shop, self._url = shop, url
        self._begun, self._end = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._call)

    def _call(self) -> None:
        while not (self._end.wait(0.02) and len(self.answers) >= _CALLS):
            answer = self._shop.cloud1.http_get(self._url)
            self.answers.append(answer.text if answer.status == 200 else str(answer.status))
            self._begun.set()

    def __enter__(self) -> "Traffic":
        self._thread.start()
        assert self._begun.wait(30)
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()


def test_clients_see_no_failure_during_an_adoption(shop: Shop, other: OtherTool) -> None:
    arn = other.deploys("hello", "old")
    other.serves(arn, "/hello")
    other.owns()
    with Traffic(shop, other.url) as traffic:
        assert shop.run("adopt").code == 0
        adopted = len(traffic.answers)
        assert shop.run("deploy").code == 0
    assert set(traffic.answers[:adopted]) == {"old"}
    assert set(traffic.answers) == {"old", "new"}
    assert len(traffic.answers) >= _CALLS
