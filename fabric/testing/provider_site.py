"""A service at a provider under test: its orders, its deploys and its record, without a graph.

A package derives one class from `ProviderSite` for its provider and runs the rules of
`fabric.testing.rules` on it.
"""

import http.client
import io
import itertools
import json
import zipfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, TypeVar
from urllib.parse import urlsplit

from msgspec import Struct
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
from fabric.model.secrets.secret import Secret
from fabric.providers.core.contract import (
    NO_CONTEXT,
    Artifact,
    CallContext,
    Deployer,
    DeploymentAddress,
    FunctionOrder,
    LiveFunction,
    Released,
)

T = TypeVar("T")
HELLO = '{"type": "http", "method": "GET", "path": "/hello"}'
BYE = '{"method": "GET", "path": "/bye", "type": "http"}'
EVERY_HOUR = '{"schedule": "rate(1 hour)", "type": "cron"}'
_OK = 200
# Returns a word and the variable MODE, and logs its event.
_HANDLER = """export const handler = async (event) => {
    console.log("given " + JSON.stringify(event));
    if (event.Records) {
        const failed = event.Records.filter((one) => one.body === "bad");
        return { batchItemFailures: failed.map((one) => ({ itemIdentifier: one.messageId })) };
    }
    return { statusCode: 200, body: WORD + (process.env.MODE ?? "") };
}"""


class SiteResponse(Struct, frozen=True):
    """The HTTP response of a deployed function."""

    status: int
    text: str
    # By lowercase name.
    headers: Mapping[str, str] = {}


class ProviderSite(ABC):
    """One service at the provider. `folder` is an empty directory for archives."""

    # The id of the provider.
    provider: ClassVar[str]
    # Whether all functions share one version, so that each has another one if one of them changed.
    is_one_version: ClassVar[bool] = False
    # Whether the provider can prepare a version without traffic. Otherwise a deploy switches it.
    switches_at_release: ClassVar[bool] = True
    # Whether the provider has schedules. Otherwise all functions of the rules have only routes.
    supports_schedules: ClassVar[bool] = True

    def __init__(
        self, folder: Path, service: str = "shop", extension: Mapping[str, Any] | None = None
    ) -> None:
        self.folder = folder
        self.service = service
        self.extension = dict(extension or {})
        self.record: Record | None = None
        self._numbers = itertools.count()
        self._orders: dict[str, FunctionOrder] = {}

    @property
    @abstractmethod
    def deployer(self) -> Deployer:
        """Open a deployer as a new run does."""

    @abstractmethod
    def open_other(self, service: str) -> "ProviderSite":
        """Open another service in the same account."""

    @abstractmethod
    def list_resources(self) -> object:
        """List everything that the service has at the provider. False in a condition if empty."""

    @abstractmethod
    def count_changes(self) -> int:
        """Count the calls that changed something since the last reset."""

    @abstractmethod
    def reset_calls(self) -> None:
        """Set the count to zero and remove pending rejections. Resources are unchanged."""

    @abstractmethod
    def reject_change(self, skip: int) -> None:
        """Let the provider reject one call that changes something, after `skip` such calls."""

    def request(self, method: str, path: str, **headers: str) -> SiteResponse:
        """Send a request to the service as a user does."""
        named = {name.replace("_", "-"): text for name, text in headers.items()}
        return send_request(method, self.known().endpoint + path, named)

    def response(self, path: str = "/hello", method: str = "GET") -> str:
        """Return the text of the response, or the status if it is not 200."""
        answer = self.request(method, path)
        return answer.text if answer.status == _OK else str(answer.status)

    def close(self) -> None:  # noqa: B027 - most sites hold nothing open
        """Release what the site holds open."""

    @property
    def region(self) -> str:
        return ""

    @property
    def watch(self) -> CallContext:
        return NO_CONTEXT

    def address(self, previous: Record | None = None) -> DeploymentAddress:
        return DeploymentAddress(
            service=self.service,
            stage="dev",
            label=self.provider,
            provider_id=self.provider,
            region=self.region,
            extension=json.dumps(self.extension),
            previous=previous,
        )

    def order(
        self, name: str, *triggers: str, word: str = "one", source: str = "", **env: str
    ) -> FunctionOrder:
        """Order a Node.js function that returns `word`."""
        text = source or _HANDLER.replace("WORD", json.dumps(word))
        return self.order_of(name, pack_files({"index.mjs": text}), *triggers, **env)

    def order_of(self, name: str, content: bytes, *triggers: str, **env: str) -> FunctionOrder:
        digest = hash_bytes(content)
        path = self.folder / f"{digest}.zip"
        path.write_bytes(content)
        values = tuple(sorted(env.items()))
        return FunctionOrder(
            name,
            Artifact(path, digest, len(content), "index.handler", "nodejs20.x"),
            settings=(("timeout", "3"),),
            triggers=triggers,
            env=Secret(values),
            mark=hash_fields((name, digest, *triggers, repr(values)))[:32],
        )

    def both(self, word: str = "one") -> tuple[FunctionOrder, FunctionOrder]:
        """Order a function with a route and a schedule, if there are any, and one with another
        route."""
        hello = self.order("hello", HELLO, *self.clock(), word=word)
        return hello, self.order("bye", BYE, word="bye")

    def clock(self, schedule: str = EVERY_HOUR) -> tuple[str, ...]:
        """Return a schedule as the triggers of a function; none if the provider has none."""
        return (schedule,) if self.supports_schedules else ()

    def deploy_service(self, *orders: FunctionOrder, force: bool = False) -> Released:
        """Deploy and release these functions, and delete the others. With `force` the record is
        uncertain."""
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
        """Deploy one function per call, or all together if that is the unit of the provider."""
        if self.deployer.unit is DeployUnit.SERVICE:
            return self.deploy(*orders)
        return tuple(live for order in orders for live in self.deploy(order))

    def deploy(self, *orders: FunctionOrder) -> tuple[LiveFunction, ...]:
        address = self.address(self.known())
        lives = self.deployer.deploy(address, orders, self.watch).functions
        for order, live in zip(orders, lives, strict=True):
            self._orders[order.name] = order
            self._learn(FunctionDone("deploy", _build_record(order, live)))
        return lives

    def _forget_others(self, names: Sequence[str]) -> None:
        for one in self.known().functions:
            if one.name not in names:
                self._learn(FunctionGone("deploy", one.name))

    def release(self, names: Sequence[str]) -> Released:
        record = self.known()
        lives = [one for one in self.lives() if one.name in names]
        released = self._record_failure(
            "release",
            lambda: self.deployer.release(self.address(record), lives, (), self.watch),
        )
        self._learn(
            ReleaseDone("release", released.endpoint, released.outputs, "key", released.kept)
        )
        return released

    def destroy(self, name: str) -> None:
        lives = [one for one in self.lives() if one.name == name]
        self._record_failure(
            "remove",
            lambda: self.deployer.destroy(self.address(self.record), lives, self.watch),
        )
        self._learn(FunctionGone("remove", name))

    def dissolve(self) -> None:
        lives = self.lives()
        self._record_failure(
            "remove",
            lambda: self.deployer.dissolve(self.address(self.record), lives, self.watch),
        )

    def _record_failure(self, kind: str, call: Callable[[], T]) -> T:
        try:
            return call()
        except FabricError:
            self._learn(record_failed_release(kind, self.known()))
            raise

    def find(self, name: str, mark: str = "") -> LiveFunction | None:
        return self.deployer.find(self.address(self.record), name, mark)

    def lives(self) -> list[LiveFunction]:
        """List the functions of the record, as fabric passes them to a release."""
        return [self._build_live(one) for one in self.known().functions]

    def live(self, name: str) -> LiveFunction:
        return next(one for one in self.lives() if one.name == name)

    def _build_live(self, one: FunctionRecord) -> LiveFunction:
        order = self._orders.get(one.name)
        return LiveFunction(
            name=one.name,
            resource_name=one.resource_name,
            resource_id=one.resource_id,
            endpoint=one.endpoint,
            artifact_sha256=one.artifact_sha256,
            mark=order.mark if order else "",
            triggers=one.triggers,
            tags=order.tags if order else (),
            reserved_concurrency=order.reserved_concurrency if order else None,
            settings=one.settings,
        )

    def known(self) -> Record:
        """Return the record of the service."""
        ref = RecordRef(self.service, "dev", self.provider)
        return self.record or Record(ref, self.provider, "line", "salt", mode=Mode.REAL)

    def _learn(self, change: RecordChange) -> None:
        self.record = apply_change(self.known(), change)


def pack_files(files: Mapping[str, str]) -> bytes:
    """Pack texts by path into an archive, the same bytes each time."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as writer:
        for path, text in files.items():
            writer.writestr(zipfile.ZipInfo(path), text)
    return made.getvalue()


def send_request(method: str, url: str, headers: Mapping[str, str] | None = None) -> SiteResponse:
    """Send a request by HTTP without following redirects."""
    place = urlsplit(url)
    connection = http.client.HTTPConnection(place.netloc, timeout=20)
    try:
        connection.request(method, place.path or "/", headers=dict(headers or {}))
        answer = connection.getresponse()
        named = {name.lower(): text for name, text in answer.getheaders()}
        return SiteResponse(answer.status, answer.read().decode(), named)
    finally:
        connection.close()


def _build_record(order: FunctionOrder, live: LiveFunction) -> FunctionRecord:
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
