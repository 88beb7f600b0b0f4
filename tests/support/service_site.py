"""A service at a provider, by its deployer alone: runs as tasks make them, without a graph.

One class for each provider stands on this: what is the same for all is written, and tested, once.
"""

import http.client
import itertools
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Any, ClassVar, NamedTuple
from urllib.parse import urlsplit

from msgspec.structs import replace

from fabric.model.catalog import DeployUnit
from fabric.model.hashing import hash_bytes, hash_fields
from fabric.model.problems import FabricError
from fabric.model.records.changes import (
    FunctionDone,
    FunctionGone,
    RecordChange,
    ReleaseDone,
    add_doubt,
    apply_change,
    record_failed_release,
)
from fabric.model.records.endings import end_deployed
from fabric.model.records.record import FunctionRecord, Mode, Record, RecordRef
from fabric.model.secret import Secret
from fabric.providers.contract import (
    Artifact,
    CallContext,
    Deployer,
    DeploymentAddress,
    FunctionOrder,
    LiveFunction,
    Released,
)
from fabric.providers.waiting import RetryPolicy
from tests.support.function_archive import archive
from tests.support.orders import HTTP, trigger

QUICK = RetryPolicy(base=0.001, cap=0.01, most=0.5)
BYE = trigger("http", method="GET", path="/bye")
EVERY_HOUR = trigger("cron", schedule="rate(1 hour)")
# Answers, keeps what it is given in its log, and fails the messages that say so.
_RECORDING = """export const handler = async (event) => {
    console.log("given " + JSON.stringify(event));
    if (event.Records) {
        const failed = event.Records.filter((one) => one.body === "bad");
        return { batchItemFailures: failed.map((one) => ({ itemIdentifier: one.messageId })) };
    }
    return { statusCode: 200, body: WORD + (process.env.MODE ?? "") };
}"""


class SiteAnswer(NamedTuple):
    status: int
    text: str
    headers: Mapping[str, str]


class LostAnswer(Enum):
    """What becomes of a call: carried out and not answered, or answered by a half; or never
    there."""

    AFTER = "after"
    HALF = "half"
    BEFORE = "before"


class ServiceSite(ABC):
    """`talk` is what the deployer tells on its way; one that `gives_up` never tries again: what a
    second run makes of a lost answer is to be seen."""

    provider: ClassVar[str]
    # Whether one version is of all functions: it is another one wherever one of them is.
    is_one_version: ClassVar[bool] = False

    def __init__(
        self, folder: Path, service: str = "shop", extension: Mapping[str, Any] | None = None
    ) -> None:
        self.folder = folder
        self.service = service
        self.extension = dict(extension or {})
        self.record: Record | None = None
        self.talk: list[str] = []
        self.waiting = QUICK
        self.gives_up = False
        self._numbers = itertools.count()
        self._orders: dict[str, FunctionOrder] = {}

    @property
    @abstractmethod
    def deployer(self) -> Deployer: ...

    @abstractmethod
    def beside(self, service: str) -> "ServiceSite":
        """Another service at the same provider, in the same account."""

    @property
    @abstractmethod
    def environment(self) -> Mapping[str, str]:
        """For a command line."""

    @abstractmethod
    def refuse_release(self) -> None:
        """The next release is refused half-way."""

    @abstractmethod
    def refuse_change(self, skip: int) -> None:
        """One call that changes something is refused, after `skip` such calls from now on."""

    @property
    def region(self) -> str:
        return ""

    def said(self, path: str = "/hello", method: str = "GET") -> str:
        """What a user is answered; the status where that is not 200."""
        answer = self.asked(method, path)
        return answer.text if answer.status == 200 else str(answer.status)

    def asked(self, method: str, path: str, **headers: str) -> SiteAnswer:
        named = {name.replace("_", "-"): text for name, text in headers.items()}
        return asked(method, self.known().endpoint + path, named)

    @abstractmethod
    def left(self) -> object:
        """All that this service could have left behind; nothing is false."""

    def made(self) -> object:
        """What one and the same run leaves, however it came about."""
        return self.left()

    @abstractmethod
    def calls(self) -> int:
        """How many there were since the last reset."""

    @abstractmethod
    def changes(self) -> int:
        """How many calls have changed something since the last reset."""

    @abstractmethod
    def reset(self) -> None:
        """Forgets calls and faults; what was made stays."""

    @abstractmethod
    def lose(self, way: LostAnswer, skip: int) -> None:
        """One answer, after `skip` calls from now on."""

    @abstractmethod
    def has_lost(self) -> bool:
        """Whether there was a call that `lose` meant."""

    @abstractmethod
    def lose_version(self, live: LiveFunction) -> None:
        """Somebody deletes by hand what a rollback would go back to."""

    def full_orders(self) -> Iterable[FunctionOrder]:
        """With a trigger of each kind that there is."""
        clock = trigger("cron", schedule="rate(5 minutes)")
        return (self.order("hello", HTTP, clock), self.order("bye"))

    def moved_orders(self) -> Iterable[FunctionOrder]:
        """Another code, another route, another clock, and one function that is gone."""
        clock = trigger("cron", schedule="0 12 * * 1-5")
        return (self.order("hello", HTTP.replace("hello", "greet"), clock, word="two"),)

    def close(self) -> None:  # noqa: B027 - most have nothing
        """Ends what is held open at this end."""

    @property
    def watch(self) -> CallContext:
        return CallContext(self.talk.append)

    def address(self, previous: Record | None = None) -> DeploymentAddress:
        return DeploymentAddress(
            *(self.service, "dev", self.provider, self.provider, self.region),
            extension=json.dumps(self.extension),
            previous=previous,
        )

    def order(
        self,
        name: str,
        *triggers: str,
        word: str = "one",
        source: str = "",
        **env: str,
    ) -> FunctionOrder:
        text = source or _RECORDING.replace("WORD", json.dumps(word))
        return self.order_of(name, archive(index_mjs=text), *triggers, **env)

    def order_of(self, name: str, content: bytes, *triggers: str, **env: str) -> FunctionOrder:
        digest = hash_bytes(content)
        path = self.folder / f"{digest}.zip"
        path.write_bytes(content)
        artifact = Artifact(path, digest, len(content), "index.handler", "nodejs20.x")
        values = tuple(sorted(env.items()))
        mark = hash_fields((name, digest, *triggers, repr(values)))[:32]
        settings = (("timeout", "3"),)
        return FunctionOrder(name, artifact, settings, triggers, env=Secret(values), mark=mark)

    def both(self, word: str = "one") -> tuple[FunctionOrder, FunctionOrder]:
        hello = self.order("hello", HTTP, EVERY_HOUR, word=word)
        return hello, self.order("bye", BYE, word="bye")

    def up(self, *orders: FunctionOrder, force: bool = False) -> Released:
        """Deploys, the release, and the removal of what is not ordered any more."""
        base = self.known()
        self.record = record = replace(base, kept=add_doubt(base.kept)) if force else base
        self.deploy_all(orders)
        names = [order.name for order in orders]
        if self.deployer.unit is DeployUnit.SERVICE:
            self._forget_others(names)
        released = self.release(names)
        for one in self.known().functions:
            if one.name not in names:
                self.destroy(one.name)
        self.record = end_deployed(record, self.known(), f"deployment-{next(self._numbers)}", "now")
        return released

    def deploy_all(self, orders: Sequence[FunctionOrder]) -> tuple[LiveFunction, ...]:
        """As many at a time as the provider's unit has."""
        if self.deployer.unit is DeployUnit.SERVICE:
            return self.deploy(*orders)
        return tuple(live for order in orders for live in self.deploy(order))

    def deploy(self, *orders: FunctionOrder) -> tuple[LiveFunction, ...]:
        address = self.address(self.known())
        lives = self.deployer.deploy(address, orders, self.watch).functions
        for order, live in zip(orders, lives, strict=True):
            self._orders[order.name] = order
            self._learn(FunctionDone("deploy", _recorded(order, live)))
        return lives

    def _forget_others(self, names: Sequence[str]) -> None:
        for one in self.known().functions:
            if one.name not in names:
                self._learn(FunctionGone("deploy", one.name))

    def release(self, names: Sequence[str]) -> Released:
        record = self.known()
        lives = [one for one in self.lives() if one.name in names]
        try:
            released = self.deployer.release(self.address(record), lives, (), self.watch)
        except FabricError:
            self._learn(record_failed_release("release", record))
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
            self._learn(record_failed_release("remove", self.known()))
            raise

    def find(self, name: str, mark: str = "") -> LiveFunction | None:
        return self.deployer.find(self.address(self.record), name, mark)

    def lives(self) -> list[LiveFunction]:
        return [
            LiveFunction(
                *(one.name, one.resource_name, one.resource_id, one.endpoint, one.artifact_sha256),
                triggers=one.triggers,
                tags=self._orders[one.name].tags if one.name in self._orders else (),
                reserved_concurrency=self._reserved(one.name),
            )
            for one in self.known().functions
        ]

    def _reserved(self, name: str) -> int | None:
        order = self._orders.get(name)
        return order.reserved_concurrency if order else None

    def live(self, name: str) -> LiveFunction:
        return next(one for one in self.lives() if one.name == name)

    def known(self) -> Record:
        """What is recorded of the service by now."""
        ref = RecordRef(self.service, "dev", self.provider)
        return self.record or Record(ref, self.provider, "line", "salt", mode=Mode.REAL)

    def _learn(self, change: RecordChange) -> None:
        self.record = apply_change(self.known(), change)


def asked(method: str, url: str, headers: Mapping[str, str] | None = None) -> SiteAnswer:
    """By HTTP, and no redirect is followed."""
    place = urlsplit(url)
    connection = http.client.HTTPConnection(place.netloc, timeout=20)
    try:
        connection.request(method, place.path or "/", headers=dict(headers or {}))
        answer = connection.getresponse()
        named = {name.lower(): text for name, text in answer.getheaders()}
        return SiteAnswer(answer.status, answer.read().decode(), named)
    finally:
        connection.close()


def timed(order: FunctionOrder, seconds: int) -> FunctionOrder:
    """The same with another timeout."""
    mark = hash_fields((order.mark, str(seconds)))[:32]
    return replace(order, settings=(("timeout", str(seconds)),), mark=mark)


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
        endpoint=live.endpoint,
        handler=order.artifact.handler,
        triggers=order.triggers,
        settings=order.settings,
    )
