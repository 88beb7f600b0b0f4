"""References to stacks, functions and other services at AWS, in what only deploys read."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.cloud1_shop import Shop
from tests.support.cloud1_site import make_queue
from tests.support.in_process import project
from tests.support.project import Done
from tests.support.servers.strict_cloud1.client import StrictCloud1

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

_STACK = "extensions: {cloud1-lambda: {stack: {before: {template: infra.yml}%s}}}\n"
_SHOW = 'import os\ndef handler(event, context):\n    return {"statusCode": 200, "body": '
_BUCKET = (
    '{type: storage, bucket: "${stack:Uploads}", existingBucket: true, '
    "events: ['objstore1:ObjectCreated:*']}"
)
_VERSION = "lambda.PublishVersion"


class ReferenceShop(Shop):
    """A service whose stack has outputs, next to a service `web` that depends on it."""

    outputs: dict[str, str]
    after = ""

    @property
    def head(self) -> str:
        return super().head + _STACK % self.after

    def write(self) -> None:
        document = {
            "Resources": {"Topic": {"Type": "AWS::SNS::Topic"}},
            "Outputs": {name: {"Value": value} for name, value in self.outputs.items()},
        }
        self.project.write({"infra.yml": json.dumps(document)})
        super().write()

    def shows(self, name: str, variable: str) -> None:
        self.project.write({f"{name}.py": f'{_SHOW}os.environ["{variable}"]}}\n'})
        self.functions.setdefault(name, [f"{{type: http, path: /{name}}}"])

    def queue(self, name: str) -> str:
        make_queue(self.cloud1, name)
        return f"arn:aws:sqs:{self.region}:{self.account}:{name}"

    @property
    def aliases(self) -> str:
        return f"arn:aws:lambda:{self.region}:{self.account}:function:shop-dev"

    @property
    def account(self) -> str:
        return str(self.cloud1.client("sts").get_caller_identity()["Account"])

    @property
    def sources(self) -> list[str]:
        found = self.cloud1.client("lambda").list_event_source_mappings()["EventSourceMappings"]
        return [one["EventSourceArn"] for one in found if one["State"] != "Deleting"]

    def watches_bucket(self) -> None:
        self.outputs["Uploads"] = "shop-uploads"
        self.cloud1.client("s3").create_bucket(Bucket="shop-uploads")
        self.functions["hello"].append(_BUCKET)

    @property
    def notified(self) -> list[str]:
        s3 = self.cloud1.client("s3")
        found = s3.get_bucket_notification_configuration(Bucket="shop-uploads")
        return [one["LambdaFunctionArn"] for one in found["LambdaFunctionConfigurations"]]

    def read_policy(self, role: str) -> str:
        iam = self.cloud1.client("iam")
        [name] = iam.list_role_policies(RoleName=role)["PolicyNames"]
        return json.dumps(iam.get_role_policy(RoleName=role, PolicyName=name)["PolicyDocument"])

    def error(self, *words: str) -> Any:
        done = self.run(*words)
        assert done.code, done.out
        return done.document["error"]


@pytest.fixture
def shop(cloud1: StrictCloud1, tmp_path: Path) -> ReferenceShop:
    made = ReferenceShop(cloud1, project(tmp_path / "project", sources={}))
    made.outputs = {"Queue": made.queue("work"), "Dead": made.queue("dead")}
    return made


def test_outputs_of_the_stack_reach_triggers_permissions_and_destinations(
    shop: ReferenceShop,
) -> None:
    shop.shows("hello", "HOME")
    shop.functions["hello"].append('{type: queue, queue: "${stack:Queue}"}')
    shop.watches_bucket()
    shop.more = (
        ', permissions: [{actions: ["sqs:SendMessage"], resources: ["${stack:Queue}"]}]'
        ', async: {onFailure: "${stack:Dead}"}, deadLetter: "${stack:Dead}"'
        ', tags: {queue: "${stack:Queue}"}'
    )
    plan = shop.run("plan")
    assert {"queue": "${stack:Queue}"}.items() <= dict(
        plan.result["services"][0]["functions"][0]["triggers"][1]
    ).items()
    shop.ran("deploy")
    client = shop.cloud1.client("lambda")
    assert shop.sources == [shop.outputs["Queue"]]
    assert shop.notified == [f"{shop.aliases}-hello:live"]
    found = client.get_function_configuration(FunctionName="shop-dev-hello")
    assert found["DeadLetterConfig"] == {"TargetArn": shop.outputs["Dead"]}
    assert shop.outputs["Queue"] in shop.read_policy(found["Role"].rpartition("/")[2])
    assert client.list_tags(Resource=found["FunctionArn"])["Tags"]["queue"] == shop.outputs["Queue"]
    assert shop.ran("deploy") == {}
    assert shop.ran("plan") == {}

    shop.outputs["Queue"] = shop.queue("other")
    plan = shop.run("plan")
    assert "stack:shop/before" in json.dumps(plan.result["tasks"])
    calls = shop.ran("deploy")
    assert _VERSION not in calls
    assert shop.sources == [shop.outputs["Queue"]]
    assert client.list_tags(Resource=found["FunctionArn"])["Tags"]["queue"] == shop.outputs["Queue"]
    shop.ran("rollback")
    assert [one.rpartition(":")[2] for one in shop.sources] == ["work"]


def test_an_output_of_a_wrong_form_is_refused_before_the_first_call(shop: ReferenceShop) -> None:
    shop.shows("hello", "HOME")
    shop.outputs["Dead"] = "dead"
    shop.outputs["Uploads"] = "Uploads"
    shop.functions["hello"].append(_BUCKET)
    shop.more = ', deadLetter: "${stack:Dead}"'
    error = shop.error("deploy")
    assert "`deadLetter` must be an ARN" in error["message"]
    assert "bucket `Uploads`" in str(error)
    assert "lambda.CreateFunction" not in shop.cloud1.calls()


def test_extensions_use_outputs_and_only_they_change_with_them(shop: ReferenceShop) -> None:
    shop.shows("hello", "HOME")
    shop.outputs["Role"] = shop.role
    text = 'roleArn: "${stack:Role}", stack'
    shop.after = ""
    head = f"{Shop.head.fget(shop)}{_STACK % ''}".replace("stack", text, 1)  # type: ignore[attr-defined]
    shop.write()
    functions = (
        "functions: [{name: hello, entry: hello.py, triggers: [{type: http, path: /hello}]}]\n"
    )
    shop.project.write({"fabric.yml": head + functions})
    env = {name: text for name, text in shop.env.items() if "ROLE" not in name}
    done = shop.project.json("deploy", env=env)
    assert done.code == 0, done.out + done.err
    found = shop.cloud1.client("lambda").get_function_configuration(FunctionName="shop-dev-hello")
    assert found["Role"] == shop.role
    removed = shop.project.json("remove", "--yes", env=env)
    assert removed.code == 0, removed.out + removed.err


def test_functions_get_the_alias_of_each_other_and_stacks_get_it_too(shop: ReferenceShop) -> None:
    shop.shows("hello", "OTHER")
    shop.shows("world", "OTHER")
    shop.more = ', env: {OTHER: "${function:world.arn} ${function:hello.name}"}'
    shop.after = ', after: {template: end.yml, parameters: {Arn: "${function:hello.arn}"}}'
    end = {
        "Parameters": {"Arn": {"Type": "String"}},
        "Resources": {"Alarm": {"Type": "AWS::SNS::Topic"}},
        "Outputs": {"Seen": {"Value": {"Ref": "Arn"}}},
    }
    shop.project.write({"end.yml": json.dumps(end)})
    shop.ran("deploy")
    assert shop.said("hello") == f"{shop.aliases}-world:live shop-dev-hello"
    outputs = shop.run("outputs").result["services"][0]["outputs"]
    assert outputs["stack.after.Seen"] == f"{shop.aliases}-hello:live"
    assert shop.ran("deploy") == {}
    shop.more = ", env: {OTHER: none}"
    shop.ran("deploy")
    shop.ran("rollback")
    assert shop.said("hello") == f"{shop.aliases}-world:live shop-dev-hello"


def test_the_later_stack_gets_the_id_and_the_address_of_the_api(shop: ReferenceShop) -> None:
    shop.shows("hello", "HOME")
    stack = 'after: {template: end.yml, parameters: {Id: "${api:id}", Url: "${api:url}"}}'
    shop.after = f", {stack}"
    end = {
        "Parameters": {"Id": {"Type": "String"}, "Url": {"Type": "String"}},
        "Resources": {"Topic": {"Type": "AWS::SNS::Topic"}},
        "Outputs": {"Seen": {"Value": {"Fn::Sub": "${Id} ${Url}"}}},
    }
    shop.project.write({"end.yml": json.dumps(end)})

    def read_seen() -> list[str]:
        outputs = shop.run("outputs").result["services"][0]["outputs"]
        return [*outputs["stack.after.Seen"].split(), outputs["url"]]

    shop.write()
    simulated = shop.project.json("deploy", "--stage", "tried", env={})
    assert simulated.code == 0, simulated.out
    shop.ran("deploy")
    first, url, shown = read_seen()
    [api] = shop.cloud1.client("apigatewayv2").get_apis()["Items"]
    assert (first, url) == (api["ApiId"], shown)
    assert shop.ran("deploy") == {}
    assert shop.ran("plan") == {}

    shop.after = f", {stack}}}, http: {{kind: rest, allowReplace: true"
    shop.ran("deploy")
    second, url, shown = read_seen()
    [rest] = shop.cloud1.client("apigateway").get_rest_apis()["items"]
    assert (second, url) == (rest["id"], shown)
    assert shop.ran("deploy") == {}


def test_the_later_stack_gets_the_url_of_a_function(shop: ReferenceShop) -> None:
    shop.shows("hello", "HOME")
    shop.more = ", url: true"
    shop.after = ', after: {template: end.yml, parameters: {Url: "${function:hello.url}"}}'
    end = {
        "Parameters": {"Url": {"Type": "String"}},
        "Resources": {"Topic": {"Type": "AWS::SNS::Topic"}},
        "Outputs": {"Seen": {"Value": {"Ref": "Url"}}},
    }
    shop.project.write({"end.yml": json.dumps(end)})
    shop.write()
    simulated = shop.project.json("deploy", "--stage", "tried", env={})
    assert simulated.code == 0, simulated.out
    shop.ran("deploy")
    [service] = shop.run("outputs").result["services"]
    which = {"FunctionName": "shop-dev-hello", "Qualifier": "live"}
    url = shop.cloud1.client("lambda").get_function_url_config(**which)["FunctionUrl"]
    assert service["outputs"]["stack.after.Seen"] == url
    assert shop.ran("deploy") == {}


class Pair:
    """The shop, and a service `web` that uses outputs of its stack."""

    def __init__(self, shop: ReferenceShop) -> None:
        self.shop = shop
        shop.shows("hello", "HOME")
        compose = "[{name: shop, config: .}, {name: web, config: web, dependsOn: [shop]}]"
        web = (
            "service: web\n"
            "provider: {name: cloud1-lambda, runtime: python3.11, region: us-east-1}\n"
            "functions: [{name: show, entry: show.py, env: {DEAD: '${service:shop.stack.Dead}'}, "
            "triggers: [{type: queue, queue: '${service:shop.stack.Queue}'}]}]\n"
        )
        files = {"web/fabric.yml": web, "web/show.py": _SHOW + "1}\n"}
        shop.project.write({**files, "fabric.compose.yml": f"services: {compose}\n"})

    def ask(self, *words: str, cwd: str = "web") -> Done:
        self.shop.write()
        self.shop.cloud1.reset()
        return self.shop.project.json(*words, env=self.shop.env, cwd=cwd)

    def run(self, *words: str, cwd: str = "web") -> dict[str, int]:
        done = self.ask(*words, cwd=cwd)
        assert done.code == 0, done.out + done.err
        return self.shop.cloud1.calls()

    @property
    def seen(self) -> tuple[str, str]:
        client = self.shop.cloud1.client("lambda")
        found = client.get_function_configuration(FunctionName="web-dev-show", Qualifier="live")
        [source] = self.shop.sources
        return source, found["Environment"]["Variables"]["DEAD"]


def test_other_services_read_outputs_of_stacks_in_one_run_and_from_the_state(
    shop: ReferenceShop,
) -> None:
    pair = Pair(shop)
    pair.run("compose", "deploy", cwd=".")
    assert pair.seen == (shop.outputs["Queue"], shop.outputs["Dead"])
    assert pair.run("deploy") == {}

    shop.outputs["Dead"] = "moved"
    pair.run("deploy", cwd=".")
    tasks = pair.ask("plan").result["tasks"]
    [deploy] = [one for one in tasks if one["kind"] == "deploy"]
    assert deploy["reason"] == "stack:shop/before@cloud1-lambda result changed"
    pair.run("deploy")
    assert pair.seen[1] == "moved"

    del shop.outputs["Dead"]
    pair.run("deploy", cwd=".")
    error = pair.ask("deploy").document["error"]
    assert error["code"] == "config/unresolved-reference"
    assert "`shop` has no output `stack.Dead`" in error["message"]
