"""Choose where builds run: locally or on the selected executor."""

import contextlib
from collections.abc import Iterator

from msgspec.structs import replace

from fabric.app.request import Request
from fabric.app.session import SessionOptions
from fabric.app.settings import Settings


@contextlib.contextmanager
def open_requested_executor(
    request: Request, settings: Settings, opening: SessionOptions
) -> Iterator[SessionOptions]:
    """Open the selected cluster before anything is built or locked."""
    if request.executor is None:
        yield opening
        return
    from fabric.app.dask.opening import open_executor  # Dask takes half a second to import

    executor = open_executor(request.executor, settings)
    with contextlib.closing(executor.workers):
        yield replace(opening, executor=executor)
