"""A service at the server of edge1, by its deployer alone: runs as tasks make them."""

import itertools
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from fabric.model.hashing import digest_bytes, digest_fields
from fabric.model.problems import FabricError
from fabric.model.records.changes import (
    FunctionDone,
    FunctionGone,
    RecordChange,
    ReleaseDone,
    applied,
    broken_off,
    doubted,
)
from fabric.model.records.endings import deployed
from fabric.model.records.record import FunctionRecord, Mode, Record, RecordRef
from fabric.model.secret import Secret
from fabric.providers.connections import Connections
from fabric.providers.contract import (
    Artifact,
    CallWatch,
    DeploymentAddress,
    FunctionOrder,
    LiveFunction,
    Released,
)
from fabric.providers.edge1.deployer import Edge1Workers
from fabric.providers.registry import deployer_of
from fabric.providers.waiting import Waiting
from tests.support.orders import around
from tests.support.servers.edge1.client import Edge1Server, Met
from tests.support.servers.strict_cloud1.samples import archive

QUICK = Waiting(base=0.001, cap=0.01, most=0.5)
# Tries once: what a second run makes of it is to be seen.
AT_ONCE = Waiting(most=0)
ID = "edge1-workers"
_SAYING = """exports.handler = async (event) => {
    console.log("given " + JSON.stringify(event));
    return { statusCode: 200, body: WORD };
};"""


@dataclass
class Edge1Site:
    edge1: Edge1Server
    folder: Path
    service: str = "shop"
    extension: dict[str, Any] = field(default_factory=dict)
    env: dict[str, str] = field(default_factory=dict)
    record: Record | None = None
    talk: list[str] = field(default_factory=list)
    waiting: Waiting = QUICK
    _numbers: Iterator[int] = field(default_factory=itertools.count)
    _connections: Connections = field(default_factory=Connections)

    @property
    def deployer(self) -> Edge1Workers:
        surroundings = around(self.folder, {**self.edge1.environment, **self.env})
        extension = json.dumps(self.extension)
        made = deployer_of(ID, Mode.REAL, surroundings, extension, self._connections)
        assert isinstance(made, Edge1Workers)
        return replace(made, waiting=self.waiting)

    def close(self) -> None:
        self._connections.close()

    @property
    def watch(self) -> CallWatch:
        return CallWatch(self.talk.append)

    def address(self, previous: Record | None = None) -> DeploymentAddress:
        return DeploymentAddress(
            *(self.service, "dev", ID, ID),
            extension=json.dumps(self.extension),
            previous=previous,
        )

    def order(
        self, name: str, *triggers: str, word: str = "one", source: str = "", **env: str
    ) -> FunctionOrder:
        text = source or _SAYING.replace("WORD", json.dumps(word))
        return self.order_of(name, archive(index_js=text), *triggers, **env)

    def order_of(self, name: str, content: bytes, *triggers: str, **env: str) -> FunctionOrder:
        path = self.folder / f"{digest_bytes(content)}.zip"
        path.write_bytes(content)
        artifact = Artifact(
            path, digest_bytes(content), len(content), "index.handler", "nodejs20.x"
        )
        seen = (name, artifact.sha256, *triggers, repr(sorted(env.items())))
        values = Secret(tuple(sorted(env.items())))
        return FunctionOrder(
            name, artifact, (), triggers, env=values, mark=digest_fields(seen)[:32]
        )

    def up(self, *orders: FunctionOrder, force: bool = False) -> Released:
        """Deploys, the release, and the removal of what is not ordered any more."""
        base = self._record()
        self.record = record = replace(base, kept=doubted(base.kept)) if force else base
        for order in orders:
            self.deploy(order)
        names = [order.name for order in orders]
        released = self.release(names)
        for one in self._record().functions:
            if one.name not in names:
                self.destroy(one.name)
        self.record = deployed(record, self._record(), f"deployment-{next(self._numbers)}", "now")
        return released

    def deploy(self, order: FunctionOrder) -> LiveFunction:
        address = self.address(self._record())
        (live,) = self.deployer.deploy(address, [order], self.watch).functions
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

    def _removed(self, call: Callable[[], None]) -> None:
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
        ref = RecordRef(self.service, "dev", ID)
        return self.record or Record(ref, ID, "line", "salt", mode=Mode.REAL)

    def _learn(self, change: RecordChange) -> None:
        self.record = applied(self._record(), change)

    def get(self, path: str = "/hello", **headers: str) -> Met:
        return self.edge1.http("GET", self._record().endpoint + path, headers=headers)

    def said(self, path: str = "/hello") -> str:
        answer = self.get(path)
        return answer.text if answer.status == 200 else str(answer.status)


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
