"""A bare Bottle route on fabric's HTTP server, with the limits of the daemon. It says its port."""

from functools import partial

import bottle  # type: ignore[import-untyped]

from fabric.daemon.server.api_server import ServerLimits
from fabric.system.event_loop import EventLoop
from fabric.system.http.answers import ServedAnswer
from fabric.system.http.connection import ConnectionEnds, Reply
from fabric.system.http.listening import bind_socket
from fabric.system.http.requests import BadRequestError, RequestHead, ServedRequest
from fabric.system.http.server import HttpServer, HttpService
from fabric.system.http.wsgi import ThreadPool, WsgiResponse, build_environ


class Requests:
    """All requests, unchecked."""

    def __init__(self, loop: EventLoop, app: bottle.Bottle, limits: ServerLimits) -> None:
        self._loop, self._app = loop, app
        self._threads = ThreadPool(limits.threads, "answers", print)

    def open_request(self, ends: ConnectionEnds) -> "Requests":
        del ends
        return self

    def admit(self, head: RequestHead) -> None:
        del head

    def refuse(self, error: BadRequestError) -> ServedAnswer:
        return ServedAnswer(error.status)

    def answer(self, request: ServedRequest, reply: Reply) -> None:
        self._threads.submit(partial(self._respond, request, reply))

    def _respond(self, request: ServedRequest, reply: Reply) -> None:
        response = WsgiResponse(self._loop, reply, lambda headers: headers)
        answer = response.compute(self._app, build_environ(request, ConnectionEnds("")))
        if answer is not None:
            self._loop.post(partial(reply, answer))


def main() -> None:
    limits, loop, app = ServerLimits(), EventLoop(), bottle.Bottle()

    @app.post("/validate")  # type: ignore[untyped-decorator]
    def validate() -> dict[str, object]:
        bottle.request.body.read()
        return {"ok": True}

    service = HttpService(Requests(loop, app, limits).open_request, ServedAnswer(503))
    server = HttpServer(loop, bind_socket("127.0.0.1", 0), service, limits)
    print(f"port {server.port}", flush=True)
    loop.run_until(lambda: False)


if __name__ == "__main__":
    main()
