"""A service in a cluster, by its deployer alone: runs as tasks make them, without a graph."""

import http.client
import itertools
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from msgspec.structs import replace

from fabric.model.hashing import digest_bytes, digest_fields
from fabric.model.problems import FabricError
from fabric.model.records.changes import (
    FunctionDone,
    FunctionGone,
    ReleaseDone,
    applied,
    broken_off,
)
from fabric.model.records.endings import deployed
from fabric.model.records.record import FunctionRecord, Mode, Record, RecordRef
from fabric.model.secret import Secret
from fabric.providers.cluster.deployer import ClusterOrchestrator
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
from tests.support.orders import around
from tests.support.servers.cluster.fixtures import TestedCluster
from tests.support.servers.strict_cloud1.samples import archive

QUICK = Waiting(base=0.02, cap=0.1, most=20.0)
HTTP = '{"type": "http", "method": "GET", "path": "/hello"}'
BYE = '{"type": "http", "method": "GET", "path": "/bye"}'
EVERY_HOUR = '{"type": "cron", "schedule": "rate(1 hour)"}'
_PROVIDER = "cluster-orchestrator"
_SOURCE = """export const handler = async (event) => {
    console.log("given " + JSON.stringify(event));
    return { statusCode: 200, body: WORD + (process.env.MODE ?? "") };
}"""


class SiteAnswer(NamedTuple):
    status: int
    text: str


@dataclass
class ClusterSite:
    cluster: TestedCluster
    folder: Path
    service: str = "shop"
    extension: dict[str, Any] = field(default_factory=dict)
    record: Record | None = None
    talk: list[str] = field(default_factory=list)
    waiting: Waiting = QUICK
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    @property
    def deployer(self) -> ClusterOrchestrator:
        surroundings = around(self.folder, self.cluster.environment)
        made = deployer_of(_PROVIDER, Mode.REAL, surroundings, json.dumps(self.extension))
        assert isinstance(made, ClusterOrchestrator)
        return replace(made, waiting=self.waiting)

    @property
    def watch(self) -> CallWatch:
        return CallWatch(self.talk.append)

    def address(self, previous: Record | None = None) -> DeploymentAddress:
        return DeploymentAddress(
            *(self.service, "dev", _PROVIDER, _PROVIDER),
            extension=json.dumps(self.extension),
            previous=previous,
        )

    def order(
        self, name: str, *triggers: str, word: str = "one", source: str = "", **env: str
    ) -> FunctionOrder:
        content = archive(index_mjs=source or _SOURCE.replace("WORD", json.dumps(word)))
        path = self.folder / f"{digest_bytes(content)}.zip"
        path.write_bytes(content)
        size = len(content)
        artifact = Artifact(path, digest_bytes(content), size, "index.handler", "nodejs20.x")
        fields = (name, artifact.sha256, *triggers, repr(sorted(env.items())))
        values = Secret(tuple(sorted(env.items())))
        mark = digest_fields(fields)[:32]
        return FunctionOrder(name, artifact, (("timeout", "5"),), triggers, env=values, mark=mark)

    def up(self, *orders: FunctionOrder) -> Released:
        """The deploy of all functions and the release, as a run makes them."""
        record = self.known()
        self.deploy(*orders)
        names = [order.name for order in orders]
        for one in self.known().functions:
            if one.name not in names:
                self._learn(FunctionGone("deploy", one.name))
        released = self.release(names)
        number = next(self._numbers)
        self.record = deployed(record, self.known(), f"deployment-{number}", "now")
        return released

    def deploy(self, *orders: FunctionOrder) -> tuple[LiveFunction, ...]:
        found = self.deployer.deploy(self.address(self.known()), orders, self.watch).functions
        for order, live in zip(orders, found, strict=True):
            self._learn(FunctionDone("deploy", _recorded(order, live)))
        return found

    def release(self, names: Sequence[str]) -> Released:
        record = self.known()
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
        self.deployer.destroy(self.address(self.record), lives, self.watch)
        self._learn(FunctionGone("remove", name))

    def dissolve(self) -> None:
        self.deployer.dissolve(self.address(self.record), self.lives(), self.watch)

    def find(self, name: str, mark: str = "") -> LiveFunction | None:
        return self.deployer.find(self.address(self.record), name, mark)

    def lives(self) -> list[LiveFunction]:
        return [
            LiveFunction(
                *(one.name, one.resource_name, one.resource_id, one.endpoint, one.artifact_sha256),
                triggers=one.triggers,
            )
            for one in self.known().functions
        ]

    def live(self, name: str) -> LiveFunction:
        return next(one for one in self.lives() if one.name == name)

    def known(self) -> Record:
        ref = RecordRef(self.service, "dev", _PROVIDER)
        return self.record or Record(ref, _PROVIDER, "line", "salt", mode=Mode.REAL)

    def _learn(self, change: Any) -> None:
        self.record = applied(self.known(), change)

    def said(self, path: str = "/hello", method: str = "GET") -> str:
        assert self.record is not None
        answer = asked(method, f"{self.record.endpoint}{path}")
        return answer.text if answer.status == 200 else str(answer.status)


def asked(method: str, url: str) -> SiteAnswer:
    place = urlsplit(url)
    connection = http.client.HTTPConnection(place.netloc, timeout=20)
    try:
        connection.request(method, place.path or "/")
        answer = connection.getresponse()
        return SiteAnswer(answer.status, answer.read().decode())
    finally:
        connection.close()


def problems_of(call: Callable[[], object]) -> list[str]:
    """The messages of what went wrong."""
    try:
        call()
    except FabricError as error:
        return [f"{one.code}: {one.message}" for one in error.problems]
    return []


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
