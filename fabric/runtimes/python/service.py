"""Serve several functions in one container: each in its own process, because their modules can have
equal names. This process routes requests to them.

Standard library only: it runs in a container without fabric.
"""

import http.client
import json
import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from fabric.runtimes.python import server
from fabric.runtimes.python.server import READY, CountedCalls
from fabric.runtimes.python.serving_answers import build_unrouted_answer
from fabric.runtimes.python.serving_http import ServedRequest, ServedResponse, message
from fabric.runtimes.python.serving_open import add_cors, answer_preflight
from fabric.runtimes.python.serving_routes import MatchedRoute, match_route, routes_of, sort_routes

_HERE = "127.0.0.1"
_OK = 200
_LOOK_SECONDS = 2
# More than a function takes to answer that it is late.
_MARGIN = 5
_OF_THE_HOP = frozenset(("connection", "keep-alive", "transfer-encoding", "content-length"))


def main() -> None:
    server.main(_open_functions)


def _open_functions(
    document: dict[str, object], parts: Path, work: Path, port: int
) -> "ServiceServer":
    return ServiceServer(document, _start_functions(document, parts, work, port))


def _start_functions(document: dict[str, object], parts: Path, work: Path, port: int) -> list[int]:
    """Start one process per function and return their ports. If one ends, the container ends."""
    documents = _list_functions(document)
    ports = [port + 1 + number for number in range(len(documents))]
    script = str(Path(__file__).with_name("serve.py"))
    for number, said in enumerate(documents):
        env = {
            **os.environ,  # noqa: TID251 - the container's own
            "FABRIC_SAID": json.dumps({**said, "drain": 0, "listen": _HERE}),
            "FABRIC_CODE": str(parts / str(number)),
            "FABRIC_WORK": str(work / str(number)),
            "FABRIC_EVENT": "",
            "PORT": str(ports[number]),
        }
        child = subprocess.Popen([sys.executable, "-u", "-P", script], env=env)
        threading.Thread(target=_end_with, args=(child,), daemon=True).start()
    return ports


def _list_functions(document: dict[str, object]) -> list[dict[str, object]]:
    found = document.get("functions")
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def _end_with(child: subprocess.Popen[bytes]) -> None:
    """End with a function, so that the container is started again."""
    code = child.wait()
    os._exit(code or 1)


class ServiceServer(CountedCalls):
    def __init__(self, document: dict[str, object], ports: Sequence[int]) -> None:
        super().__init__(document)
        self.ports = ports
        documents = _list_functions(document)
        self.seconds = [float(str(one.get("seconds") or 0)) for one in documents]
        rows = [one.get("routes") or [] for one in documents]
        self.routes = sort_routes(
            route
            for number, some in enumerate(rows)
            for route in routes_of(some, number)  # type: ignore[arg-type]
        )

    @property
    def is_ready(self) -> bool:
        return not self.is_ending and all(map(_is_ready, self.ports))

    def answer(self, taken: ServedRequest) -> ServedResponse:
        routes = self.routes
        route = match_route(routes, taken.method, taken.path) if routes else MatchedRoute()
        if not route.key:
            return answer_preflight(route, taken) or build_unrouted_answer(route.allowed)
        return add_cors(self._pass_on(taken, route.rows[0].number), route, taken)

    def _pass_on(self, taken: ServedRequest, number: int) -> ServedResponse:
        """Send a request to the function, as it came."""
        seconds = self.seconds[number]
        limit = seconds + _MARGIN if seconds else None
        connection = http.client.HTTPConnection(_HERE, self.ports[number], timeout=limit)
        target = f"{taken.path}?{taken.query}" if taken.query else taken.path
        try:
            connection.putrequest(taken.method, target, skip_host=True, skip_accept_encoding=True)
            for name, value in taken.headers:
                if name not in _OF_THE_HOP:
                    connection.putheader(name, value)
            if not taken.header("x-forwarded-for"):
                connection.putheader("x-forwarded-for", taken.peer)
            connection.putheader("content-length", str(len(taken.body)))
            connection.endheaders(taken.body)
            answer = connection.getresponse()
            headers = [(name.lower(), value) for name, value in answer.getheaders()]
            kept = [pair for pair in headers if pair[0] not in (*_OF_THE_HOP, "server", "date")]
            return ServedResponse(answer.status, kept, answer.read())
        except (OSError, http.client.HTTPException):
            return message(502, "Bad Gateway")
        finally:
            connection.close()


def _is_ready(port: int) -> bool:
    connection = http.client.HTTPConnection(_HERE, port, timeout=_LOOK_SECONDS)
    try:
        connection.request("GET", READY)
        return connection.getresponse().status == _OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
