"""A WSGI application over plain routes: no variable parts, nothing read but the path."""

from collections.abc import Sequence

from fabric.daemon.exchange import ApiAnswer, ApiCall, ApiRoute, refusal
from fabric.daemon.server.answers import body_of, status_line
from fabric.daemon.server.gate import Admission
from fabric.daemon.server.server_parts import StartResponse, Wsgi
from fabric.daemon.server.tasks import ADMISSION
from fabric.model.problems import Problem


def small_app(routes: Sequence[ApiRoute]) -> Wsgi:
    by_path: dict[str, dict[str, ApiRoute]] = {}
    for route in routes:
        by_path.setdefault(route.path, {})[route.method] = route

    def app(environ: dict[str, object], start: StartResponse) -> list[bytes]:
        admission = environ[ADMISSION]
        known = admission if isinstance(admission, Admission) else Admission("")
        answer = _answer(by_path, environ, ApiCall(known.id, client=known.client))
        headers = [("Content-Type", answer.content_type), *answer.headers.items()]
        start(status_line(answer.status), headers)
        return [body_of(answer)]

    return app


def _answer(
    by_path: dict[str, dict[str, ApiRoute]], environ: dict[str, object], call: ApiCall
) -> ApiAnswer:
    method = str(environ["REQUEST_METHOD"])
    methods = by_path.get(str(environ["PATH_INFO"]))
    if methods is None:
        return refusal(404, (Problem("request/no-such-path", "there is nothing at this path"),))
    route = methods.get("GET" if method == "HEAD" else method)
    if route is None:
        problem = Problem("request/wrong-method", f"{method} is not for this path")
        return refusal(405, (problem,), {"Allow": ", ".join(sorted(methods))})
    return route.answer(call)
