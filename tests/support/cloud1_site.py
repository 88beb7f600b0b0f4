"""A service at a strict cloud1, by its deployer alone."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar

from msgspec.structs import replace

from fabric.model.records.record import Mode
from fabric.providers.cloud1.core.client import ONCE, Cloud1Clients
from fabric.providers.cloud1.provider import Cloud1Lambda
from fabric.providers.core.contract import FunctionOrder, LiveFunction
from fabric.providers.registry import open_deployer
from fabric.system.cloud1_account import resolve_cloud1_account
from tests.support.orders import HTTP, around, context, trigger
from tests.support.servers.strict_cloud1.client import StrictCloud1
from tests.support.servers.strict_cloud1.faults import is_change
from tests.support.servers.strict_cloud1.samples import role_of
from tests.support.service_site import LostAnswer, ServiceSite

_STATEMENT = {"effect": "Allow", "actions": ["sqs:*"], "resources": ["*"]}
_CLUSTER = "arn:aws:kafka:us-east-1:123456789012:cluster/clicks/1"
_ROLE = "FABRIC_CLOUD1_LAMBDA_ROLE_ARN"


class Cloud1Site(ServiceSite):
    provider: ClassVar[str] = "cloud1-lambda"

    def __init__(
        self,
        cloud1: StrictCloud1,
        folder: Path,
        service: str = "shop",
        extension: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(folder, service, {"roleArn": role_of(cloud1), **(extension or {})})
        self.cloud1 = cloud1
        account = resolve_cloud1_account(cloud1.environment, ("AWS_ENDPOINT_URL",))
        self._clients = Cloud1Clients(account)
        self._once = Cloud1Clients(account, ONCE)

    @property
    def region(self) -> str:
        return self.cloud1.region

    @property
    def deployer(self) -> Cloud1Lambda:
        surroundings = around(self.folder, self.environment)
        made = open_deployer(
            context(self.provider, surroundings, json.dumps(self.extension)), Mode.REAL
        )
        assert isinstance(made, Cloud1Lambda)
        clients = self._once if self.gives_up else self._clients
        return replace(made, waiting=self.waiting, connect=lambda _: clients)

    @property
    def environment(self) -> Mapping[str, str]:
        return {**self.cloud1.environment, _ROLE: self.extension["roleArn"]}

    def refuse_release(self) -> None:
        asked = {"status": 400, "code": "InvalidParameterValueException"}
        self.cloud1.fault("events.PutRule", **asked)

    def refuse_change(self, skip: int) -> None:
        asked = {"status": 400, "code": "InvalidParameterValueException"}
        self.cloud1.fault("*", changing=True, skip=skip, **asked)

    def close(self) -> None:
        self._clients.close()
        self._once.close()

    def full_orders(self) -> Iterable[FunctionOrder]:
        self._has_sources()
        hello = (
            HTTP,
            trigger("cron", schedule="rate(5 minutes)"),
            trigger("cron", schedule="0 12 * * 1-5", timezone="Europe/Berlin"),
            trigger("queue", queue="work", batchSize=5),
            trigger("logstream", topic="clicks", cluster=_CLUSTER, startingPosition="LATEST"),
            self._stored("ObjectCreated"),
        )
        return (self.order("hello", *hello), self.order("bye"))

    def moved_orders(self) -> Iterable[FunctionOrder]:
        """Another code, a setting that moved, one source that is new and one that is gone."""
        self._has_sources()
        hello = (
            HTTP.replace("hello", "greet"),
            trigger("cron", schedule="rate(5 minutes)"),
            trigger("eventbus", pattern={"source": ["orders"]}),
            trigger("queue", queue="work", batchSize=7),
            self._stored("ObjectRemoved"),
        )
        return (self.order("hello", *hello, word="two"),)

    def _stored(self, kind: str) -> str:
        bucket = f"uploads-{self.cloud1.account}"
        return trigger("storage", bucket=bucket, events=[f"objstore1:{kind}:*"])

    def _has_sources(self) -> None:
        """What the orders of all triggers need besides."""
        if "iam" not in self.extension:
            make_queue(self.cloud1)
            more = {"iam": {"role": {"statements": [_STATEMENT]}}}
            self.extension |= more

    def beside(self, service: str) -> "Cloud1Site":
        return Cloud1Site(self.cloud1, self.folder, service)

    def left(self) -> object:
        return self.cloud1.left()

    def made(self) -> object:
        return {kind: len(names) for kind, names in self.cloud1.left().items()}

    def calls(self) -> int:
        return sum(self.cloud1.calls().values())

    def changes(self) -> int:
        return sum(changing(self.cloud1).values())

    def reset(self) -> None:
        self.cloud1.reset()

    def lose(self, way: LostAnswer, skip: int) -> None:
        plan = {} if way is LostAnswer.BEFORE else {way.value: True}
        self.cloud1.fault("*", skip=skip, **plan)

    def has_lost(self) -> bool:
        return any(status == 0 for _, status in self.cloud1.answers())

    def lose_version(self, live: LiveFunction) -> None:
        number = live.resource_id.rpartition(":")[2]
        client = self.cloud1.client("lambda")
        client.delete_function(FunctionName=live.resource_name, Qualifier=number)

    def given(self, name: str) -> list[Any]:
        """The events that a function was called with."""
        logs = self.cloud1.client("logs")
        group = f"/aws/lambda/{self.service}-dev-{name}"
        try:
            found = logs.filter_log_events(logGroupName=group)["events"]
        except logs.exceptions.ResourceNotFoundException:
            return []
        said = [one["message"] for one in found if one["message"].startswith("given ")]
        return [json.loads(one.removeprefix("given ")) for one in said]


def changing(cloud1: StrictCloud1) -> dict[str, int]:
    return {name: count for name, count in cloud1.calls().items() if is_change(name)}


def make_queue(cloud1: StrictCloud1, name: str = "work", visibility: int = 30) -> str:
    """Its address."""
    made = cloud1.client("sqs").create_queue(
        QueueName=name, Attributes={"VisibilityTimeout": str(visibility)}
    )
    return str(made["QueueUrl"])
