"""A service at a provider that deploys it as a whole, by its deployer alone."""

import json
from abc import abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

import pytest
from msgspec.structs import replace

from fabric.model.problems import FabricError
from fabric.model.records.changes import FunctionGone, apply_change
from fabric.model.records.record import Mode
from fabric.providers.core.provider import Connections
from fabric.providers.core.retry import RetryPolicy
from fabric.providers.core.whole_service import WholeDeployer
from fabric.providers.registry import open_deployer
from tests.support.orders import around, context
from tests.support.servers.edge1.client import Met
from tests.support.service_site import LostAnswer, ServiceSite

# Tries once: what a second run makes of it is to be seen.
MAX_PARALLEL = RetryPolicy(most=0)


class WholeSite(ServiceSite):
    """`server` is the account of one service at the test server."""

    is_one_version: ClassVar[bool] = True
    title: ClassVar[str]
    # The variables of the token, of the place, and of the API.
    variables: ClassVar[tuple[str, str, str]]
    # The calls that create a version and that read the place.
    create: ClassVar[str]
    create_method: ClassVar[str] = "POST"
    place_path: ClassVar[str]
    # The plan of a fault that hits all creating calls.
    creating: ClassVar[Mapping[str, Any]]
    denied: ClassVar[str]
    # What a version that failed is reported with.
    failed: ClassVar[str] = "the functions are too large"

    def __init__(
        self,
        server: Any,
        folder: Path,
        service: str = "shop",
        env: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(folder, service)
        self.server = server
        self.env = dict(env or {})
        self._connections = Connections()

    @property
    def deployer(self) -> WholeDeployer[Any]:
        surroundings = around(self.folder, self.environment)
        made = open_deployer(
            context(self.provider, surroundings, json.dumps(self.settings), self._connections),
            Mode.REAL,
        )
        assert isinstance(made, WholeDeployer)
        return replace(made, waiting=MAX_PARALLEL if self.gives_up else self.waiting)

    @property
    def environment(self) -> Mapping[str, str]:
        return {**self.server.environment, **self.env}

    def refuse_change(self, skip: int) -> None:
        self.server.fault("", changing=True, skip=skip, status=422, message="not today")

    def close(self) -> None:
        self._connections.close()

    def beside(self, service: str) -> Self:
        """A service has a place of its own."""
        return type(self)(type(self.server)(self.server.front), self.folder, service)

    def destroy(self, name: str) -> None:
        """A function goes with the next deploy: nobody takes it away by itself."""
        with pytest.raises(FabricError) as raised:
            self.deployer.destroy(self.address(self.record), [self.live(name)], self.watch)
        assert raised.value.first.code == "remove/whole-service"
        self.record = apply_change(self.known(), FunctionGone("remove", name))

    def get(self, path: str = "/hello", **headers: str) -> Met:
        met: Met = self.server.http("GET", self.known().endpoint + path, headers=headers)
        return met

    def left(self) -> object:
        return self.server.left()

    def made(self) -> object:
        return self.server.left(), self.versions()

    def calls(self) -> int:
        return len(self.server.calls())

    def changes(self) -> int:
        total: int = self.server.changes().total()
        return total

    def reset(self) -> None:
        self.server.reset()

    def lose(self, way: LostAnswer, skip: int) -> None:
        is_refused = way is LostAnswer.BEFORE
        plan: dict[str, Any] = {"status": 503} if is_refused else {way.value: True}
        self.server.fault("", skip=skip, **plan)

    def has_lost(self) -> bool:
        return any(status in (0, 503) for _, _, status in self.server.calls())

    @abstractmethod
    def versions(self) -> int:
        """How many versions there are."""

    @abstractmethod
    def delete_first_version(self) -> None:
        """Somebody deletes the oldest version."""

    @abstractmethod
    def unpublish(self) -> None:
        """Somebody takes all traffic from the service."""

    @property
    @abstractmethod
    def page(self) -> str:
        """An address that is no API."""
