"""Calls with (event, context), the most common kind, with few imports for a fast first call."""

from fabric.runtimes.python.calling.context import Context
from fabric.runtimes.python.calling.handler_settings import HandlerSettings
from fabric.runtimes.python.calling.loading import LoadedHandler, find_handler, load_module


def load(said: HandlerSettings) -> LoadedHandler:
    return find_handler(load_module(said), said)


def call(handler: LoadedHandler, event: object) -> object:
    function = handler.found
    assert callable(function)  # noqa: S101 - `load` made sure
    response = function(event, Context(handler.said))
    if hasattr(type(response), "__await__") and not handler.said.awaits:
        raise TypeError(
            "the return value is a coroutine, which this provider does not await: use a plain "
            "function that runs it, such as with asyncio.run"
        )
    return await_response(response)


def await_response(response: object) -> object:
    """Await a response if it is awaitable."""
    if not hasattr(type(response), "__await__"):
        return response
    import asyncio  # as long as everything else together

    return asyncio.run(_await_response(response))


async def _await_response(response: object) -> object:
    return await response  # type: ignore[misc]
