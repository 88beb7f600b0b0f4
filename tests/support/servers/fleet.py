"""The servers of one test session, each started when it is first asked for."""

import contextlib
from functools import cached_property
from pathlib import Path
from types import TracebackType

from tests.support.servers.azurite import Azurite, azurite
from tests.support.servers.gcs import Gcs, serving
from tests.support.servers.moto import Moto, moto
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

    def _own(self, name: str) -> Path:
        folder = self._folder / name
        folder.mkdir()
        return folder
