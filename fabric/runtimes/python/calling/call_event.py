"""Calls by (event, context), which most are: with as few imports as a first call can be had for."""

from fabric.runtimes.python.calling.context import Context
from fabric.runtimes.python.calling.loading import LoadedHandler, load_module, named_in
from fabric.runtimes.python.calling.said import Said


def load(said: Said) -> LoadedHandler:
    return named_in(load_module(said), said)


def call(handler: LoadedHandler, event: object) -> object:
    function = handler.found
    assert callable(function)  # noqa: S101 - `load` made sure
    response = function(event, Context(handler.said))
    if hasattr(type(response), "__await__") and not handler.said.awaits:
        raise TypeError(
            "the return value is a coroutine, which this provider does not await: use a plain "
            "function that runs it, such as with asyncio.run"
        )
    return finished(response)


def finished(response: object) -> object:
    """Awaits what is to be awaited."""
    if not hasattr(type(response), "__await__"):
        return response
    import asyncio  # as long as everything else together

    return asyncio.run(_awaited(response))


async def _awaited(response: object) -> object:
    return await response  # type: ignore[misc]
