"""A service at a strict cloud1, by its deployer alone: runs as tasks make them, without a graph."""

import itertools
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from fabric.model.hashing import digest_bytes, digest_fields
from fabric.model.problems import FabricError
from fabric.model.records.changes import (
    FunctionDone,
    FunctionGone,
    ReleaseDone,
    applied,
    broken_off,
    doubted,
)
from fabric.model.records.endings import deployed
from fabric.model.records.record import FunctionRecord, Mode, Record, RecordRef
from fabric.model.secret import Secret
from fabric.providers.cloud1.clients import ONCE, Cloud1Clients
from fabric.providers.cloud1.deployer import Cloud1Lambda
from fabric.providers.contract import (
    Artifact,
    CallWatch,
    DeploymentAddress,
    FunctionOrder,
    LiveFunction,
    Released,
)
from fabric.providers.registry import deployer_of
from fabric.providers.waiting import Waiting
from fabric.system.cloud1_account import Trying, account_of
from tests.support.orders import around
from tests.support.servers.strict_cloud1.client import StrictCloud1
from tests.support.servers.strict_cloud1.samples import archive, role_of

QUICK = Waiting(base=0.001, cap=0.01, most=0.5)
HTTP = '{"type": "http", "method": "GET", "path": "/hello"}'
# Answers, keeps what it is given in its log, and fails the messages that say so.
_RECORDING = """export const handler = async (event) => {
    console.log("given " + JSON.stringify(event));
    if (event.rawPath) return { statusCode: 200, body: WORD };
    const failed = (event.Records ?? []).filter((one) => one.body === "bad");
    return { batchItemFailures: failed.map((one) => ({ itemIdentifier: one.messageId })) };
}"""


def trigger(kind: str, **members: object) -> str:
    return json.dumps({"type": kind, **members}, sort_keys=True)


class _OnceClients(Cloud1Clients):
    """A lost answer is told at once: what a second run makes of it is to be seen."""

    def of(self, service: str, trying: Trying = ONCE) -> Any:
        del trying
        return super().of(service, ONCE)


@dataclass
class Site:
    cloud1: StrictCloud1
    folder: Path
    service: str = "shop"
    extension: dict[str, Any] = field(default_factory=dict)
    record: Record | None = None
    talk: list[str] = field(default_factory=list)
    gives_up: bool = False
    waiting: Waiting = QUICK
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    def __post_init__(self) -> None:
        self.extension = {"roleArn": role_of(self.cloud1), **self.extension}
        account = account_of(self.cloud1.environment, ("AWS_ENDPOINT_URL",))
        self._clients = _OnceClients(account) if self.gives_up else Cloud1Clients(account)

    @property
    def deployer(self) -> Cloud1Lambda:
        surroundings = around(self.folder, self.cloud1.environment)
        extension = json.dumps(self.extension)
        made = deployer_of("cloud1-lambda", Mode.REAL, surroundings, extension)
        assert isinstance(made, Cloud1Lambda)
        return replace(made, waiting=self.waiting, connect=lambda _: self._clients)

    def close(self) -> None:
        self._clients.close()

    @property
    def watch(self) -> CallWatch:
        return CallWatch(self.talk.append)

    def address(self, previous: Record | None) -> DeploymentAddress:
        return DeploymentAddress(
            *(self.service, "dev", "cloud1-lambda", "cloud1-lambda", self.cloud1.region),
            extension=json.dumps(self.extension),
            previous=previous,
        )

    def order(
        self, name: str, *triggers: str, word: str = "one", timeout: int = 3, **env: str
    ) -> FunctionOrder:
        content = archive(index_mjs=_RECORDING.replace("WORD", json.dumps(word)))
        path = self.folder / f"{digest_bytes(content)}.zip"
        path.write_bytes(content)
        artifact = Artifact(
            path, digest_bytes(content), len(content), "index.handler", "nodejs20.x"
        )
        settings = (("timeout", str(timeout)),)
        mark = digest_fields((name, word, *triggers, str(timeout), repr(sorted(env.items()))))[:32]
        values = Secret(tuple(sorted(env.items())))
        return FunctionOrder(name, artifact, settings, triggers, env=values, mark=mark)

    def up(self, *orders: FunctionOrder, force: bool = False) -> Released:
        """Deploys, the release, and the removal of what is not ordered any more."""
        base = self._record()
        self.record = record = replace(base, kept=doubted(base.kept)) if force else base
        for order in orders:
            self.deploy(order)
        released = self.release([order.name for order in orders])
        names = {order.name for order in orders}
        for one in self._record().functions:
            if one.name not in names:
                self.destroy(one.name)
        self.record = deployed(record, self._record(), f"deployment-{next(self._numbers)}", "now")
        return released

    def deploy(self, order: FunctionOrder) -> LiveFunction:
        deployer, address = self.deployer, self.address(self._record())
        (live,) = deployer.deploy(address, [order], self.watch).functions
        self._learn(FunctionDone("deploy", _recorded(order, live)))
        return live

    def release(self, names: Sequence[str]) -> Released:
        record = self._record()
        lives = [one for one in self.lives() if one.name in names]
        try:
            released = self.deployer.release(self.address(record), lives, (), self.watch)
        except FabricError:
            self._learn(broken_off("release", record))
            raise
        done = ReleaseDone("release", released.endpoint, released.outputs, "key", released.kept)
        self._learn(done)
        return released

    def destroy(self, name: str) -> None:
        lives = [one for one in self.lives() if one.name == name]
        self._removed(lambda: self.deployer.destroy(self.address(self.record), lives, self.watch))
        self._learn(FunctionGone("remove", name))

    def dissolve(self) -> None:
        lives = self.lives()
        self._removed(lambda: self.deployer.dissolve(self.address(self.record), lives, self.watch))

    def _removed(self, call: Any) -> None:
        try:
            call()
        except FabricError:
            self._learn(broken_off("remove", self._record()))
            raise

    def lives(self) -> list[LiveFunction]:
        return [
            LiveFunction(
                *(one.name, one.resource_name, one.resource_id, one.endpoint, one.artifact_sha256),
                triggers=one.triggers,
            )
            for one in self._record().functions
        ]

    def live(self, name: str) -> LiveFunction:
        return next(one for one in self.lives() if one.name == name)

    def _record(self) -> Record:
        ref = RecordRef(self.service, "dev", "cloud1-lambda")
        return self.record or Record(ref, "cloud1-lambda", "line", "salt", mode=Mode.REAL)

    def _learn(self, change: Any) -> None:
        self.record = applied(self._record(), change)

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


def _recorded(order: FunctionOrder, live: LiveFunction) -> FunctionRecord:
    return FunctionRecord(
        name=order.name,
        key=order.mark,
        artifact_sha256=order.artifact.sha256,
        resource_name=live.resource_name,
        resource_id=live.resource_id,
        handler=order.artifact.handler,
        triggers=order.triggers,
        settings=order.settings,
    )


# Calls that change nothing.
_READS = ("Get", "List", "Describe", "Head")


def changing(cloud1: StrictCloud1) -> dict[str, int]:
    return {
        name: count
        for name, count in cloud1.calls().items()
        if not name.partition(".")[2].startswith(_READS)
    }


def make_queue(cloud1: StrictCloud1, name: str = "work", visibility: int = 30) -> str:
    """Its address."""
    made = cloud1.client("sqs").create_queue(
        QueueName=name, Attributes={"VisibilityTimeout": str(visibility)}
    )
    return str(made["QueueUrl"])
