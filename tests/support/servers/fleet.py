"""The servers of one test session, each started when it is first asked for."""

import contextlib
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from types import TracebackType

import pytest

from tests.support.servers.artifacts import ArtifactServer, artifact_server
from tests.support.servers.azurite import Azurite, azurite
from tests.support.servers.gcs import Gcs, serving
from tests.support.servers.moto import Moto, moto
from tests.support.servers.nginx import DavServer, dav_server
from tests.support.servers.postgres import Server, postgres


class Fleet:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> "Fleet":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()

    @cached_property
    def moto(self) -> Moto:
        return self._stack.enter_context(moto(self._own("moto")))

    @cached_property
    def gcs(self) -> Gcs:
        return self._stack.enter_context(serving(Gcs()))

    @cached_property
    def azurite(self) -> Azurite:
        return self._stack.enter_context(azurite(self._own("azurite")))

    @cached_property
    def postgres(self) -> Server:
        return self._stack.enter_context(postgres())

    @cached_property
    def artifacts(self) -> ArtifactServer:
        return self._stack.enter_context(artifact_server(self._own("artifacts")))

    @cached_property
    def dav(self) -> DavServer:
        return self._stack.enter_context(dav_server(self._own("dav")))

    def _own(self, name: str) -> Path:
        folder = self._folder / name
        folder.mkdir()
        return folder


@pytest.fixture(scope="session")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """One for each worker."""
    with Fleet(tmp_path_factory.mktemp("servers")) as made:
        yield made
