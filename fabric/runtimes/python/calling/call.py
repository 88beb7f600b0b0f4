"""Find the handler of a module and its calling convention, and call it.

Standard library only: it runs in a child process without fabric.
"""

import ast
import inspect
import textwrap
from collections.abc import Callable
from types import ModuleType

from fabric.runtimes.python.calling import apps, call_event, events
from fabric.runtimes.python.calling.answers import answer_of_document
from fabric.runtimes.python.calling.call_event import await_response
from fabric.runtimes.python.calling.context import Context
from fabric.runtimes.python.calling.handler_settings import HandlerSettings
from fabric.runtimes.python.calling.http_events import is_http, request_of
from fabric.runtimes.python.calling.loading import LoadedHandler, find_handler, load_module
from fabric.runtimes.python.calling.requests import by_request

_EVENTS = frozenset({"event", "evt"})
_BOTH = 2


def load(said: HandlerSettings) -> LoadedHandler:
    return handler_in(load_module(said), said)


def handler_in(module: ModuleType, said: HandlerSettings) -> LoadedHandler:
    handler = find_handler(module, said)
    handler.convention = convention_of(handler.found, handler.name, said.convention)
    return handler


def convention_of(found: object, name: str, own: str) -> str:
    """Choose the convention: from the application type, otherwise from the parameters.

    Without either, `handler` takes events, and other names use the provider's convention.
    """
    if own == "event":
        return own
    return (_choose_for_app if own == "app" else _choose_for_function)(found, name, own)


def _choose_for_function(found: object, name: str, own: str) -> str:
    taken = parameters(found)
    if own == "cloud-event" and taken == ("request",):
        return "request"
    if len(taken) == 1:
        return own
    if own in ("request", "cloud-event", "message"):
        return "event" if len(taken) == _BOTH else own
    if own == "raw-event" and name == "handler":
        return own if _is_text_reader(found, taken) else "event"
    return "event" if name == "handler" else own


def _choose_for_app(found: object, name: str, _own: str) -> str:
    if apps.is_server_class(found):
        return "server-class"
    taken = parameters(found)
    first = taken[0] if taken else ""
    is_plain = inspect.isfunction(found) and name == "handler"
    if first in _EVENTS or (is_plain and first not in ("scope", "environ")):
        return "event"
    return "asgi" if apps.is_asgi(found) else "wsgi"


def parameters(found: object) -> tuple[str, ...]:
    """Return the names of required positional parameters."""
    try:
        every = inspect.signature(found).parameters.values()  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return ()
    placed = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return tuple(one.name for one in every if one.kind in placed and one.default is one.empty)


def _is_text_reader(found: object, taken: tuple[str, ...]) -> bool:
    """Return whether a handler parses or decodes its event, so that it expects bytes."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(found)))  # type: ignore[arg-type]
    except (OSError, TypeError, SyntaxError):
        return False
    event = taken[0] if taken else ""
    return any(_is_parse_call(node, event) for node in ast.walk(tree) if isinstance(node, ast.Call))


def _is_parse_call(node: ast.Call, event: str) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(attr="decode", value=ast.Name(id=name))):
            return name == event
        case ast.Call(
            func=ast.Attribute(attr="loads") | ast.Name(id="loads"), args=[ast.Name(id=name), *_]
        ):
            return name == event
    return False


def call(handler: LoadedHandler, event: object) -> object:
    return await_response(_CALLS[handler.convention](handler, event))


def _call_with(handler: LoadedHandler, *values: object) -> object:
    """Call with as many of the values as the function accepts; with `*args` it receives all."""
    function = handler.found
    assert callable(function)  # noqa: S101 - `load` made sure
    taken = len(parameters(function))
    return function(*values[: taken if taken < len(values) else None])


def _call_by_arguments(handler: LoadedHandler, event: object) -> object:
    answer = await_response(_call_with(handler, events.arguments_of(event, handler.said)))
    return answer_of_document(answer) if is_http(event) else answer


def _call_by_http_arguments(handler: LoadedHandler, event: object) -> object:
    given = events.http_arguments_of(event, handler.said)
    answer = await_response(_call_with(handler, given, Context(handler.said)))
    return answer_of_document(answer) if is_http(event) else answer


def _call_by_raw_event(handler: LoadedHandler, event: object) -> object:
    return events.by_raw_event(handler.found, event, handler.said)  # type: ignore[arg-type]


def _call_by_request(handler: LoadedHandler, event: object) -> object:
    def call_handler(request: object) -> object:
        return _call_with(handler, request)

    return by_request(call_handler, request_of(event, handler.said), await_response)


def _call_by_wsgi(handler: LoadedHandler, event: object) -> object:
    return apps.by_wsgi(handler.found, request_of(event, handler.said))  # type: ignore[arg-type]


def _call_by_asgi(handler: LoadedHandler, event: object) -> object:
    return apps.by_asgi(handler.found, request_of(event, handler.said))  # type: ignore[arg-type]


def _call_by_server_class(handler: LoadedHandler, event: object) -> object:
    return apps.by_server_class(handler.found, request_of(event, handler.said))  # type: ignore[arg-type]


_CALLS: dict[str, Callable[[LoadedHandler, object], object]] = {
    "arguments": _call_by_arguments,
    "asgi": _call_by_asgi,
    "cloud-event": lambda handler, event: _call_with(handler, events.cloud_event_of(event)),
    "event": call_event.call,
    "http-arguments": _call_by_http_arguments,
    "message": lambda handler, event: _call_with(handler, events.Message(event)),
    "raw-event": _call_by_raw_event,
    "request": _call_by_request,
    "server-class": _call_by_server_class,
    "wsgi": _call_by_wsgi,
}
