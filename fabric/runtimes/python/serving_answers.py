"""Responses of any server around a handler: in time, or with an error message.

Standard library only: it runs in a container without fabric.
"""

import sys
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as TookTooLongError

from fabric.runtimes.python.calling import call as calling
from fabric.runtimes.python.calling.handler_settings import HandlerSettings
from fabric.runtimes.python.calling.loading import LoadedHandler
from fabric.runtimes.python.serving_http import (
    ServedRequest,
    ServedResponse,
    UnfitAnswerError,
    answer_of,
    event_of,
    message,
)
from fabric.runtimes.python.serving_routes import match_route, routes_of

# Calls at once; more of them wait.
_THREADS = 64
LoadHandler = Callable[[HandlerSettings], LoadedHandler]


class AnsweringFunction:
    """A function with its routes."""

    def __init__(self, document: dict[str, object], load: LoadHandler = calling.load) -> None:
        self.said = HandlerSettings(document)
        self.handler = load(self.said)
        self.routes = routes_of(document.get("routes") or [])  # type: ignore[arg-type]
        self.pool = ThreadPoolExecutor(_THREADS)
        # Whether it rejects a further call.
        self.is_full: Callable[[], bool] = lambda: False

    def answer(self, taken: ServedRequest) -> ServedResponse:
        route = match_route(self.routes, taken.method, taken.path)
        if not route.key:
            return build_unrouted_answer(route.allowed)
        if self.is_full():
            return message(429, "Too Many Requests")
        return self.call(event_of(taken, route))

    def call(self, event: object) -> ServedResponse:
        call = self.pool.submit(calling.call, self.handler, event)
        try:
            return answer_of(call.result(self.said.seconds or None))
        except TookTooLongError:
            if not call.done():
                return message(504, "Gateway Timeout")
            return _build_error_answer(call.exception())
        except UnfitAnswerError as error:
            sys.stderr.write(f"{self.said.function}: {error}\n")
            return message(502, "Bad Gateway")
        except BaseException as error:  # noqa: BLE001 - whatever a handler throws is a 500
            return _build_error_answer(error)


def _build_error_answer(error: BaseException | None) -> ServedResponse:
    traceback.print_exception(error)
    return message(500, "Internal Server Error")


def build_unrouted_answer(allowed: list[str]) -> ServedResponse:
    if not allowed:
        return message(404, "Not Found")
    return message(405, "Method Not Allowed", ("allow", ", ".join(allowed)))
