"""The HTTP interface without a network: requests to the application as a server would hand them."""

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import httpx

from fabric.app.settings import Settings
from fabric.daemon.actions import Actions, build_action_routes
from fabric.daemon.api_routes import RunEndpoints, build_config_routes, deploy_routes, run_routes
from fabric.daemon.changes import WorldChanges
from fabric.daemon.endpoints import Endpoints
from fabric.daemon.http_types import ApiRoute
from fabric.daemon.options import ServerOptions
from fabric.daemon.runs.runs import Runs
from fabric.daemon.web import build_web_app


@dataclass
class Api:
    """`failures` are what runs did not expect."""

    routes: Sequence[ApiRoute]
    failures: list[BaseException] = field(default_factory=list)

    def __post_init__(self) -> None:
        transport = httpx.WSGITransport(app=build_web_app(self.routes))
        self.http = httpx.Client(transport=transport, base_url="http://server.test")

    def post(self, path: str, body: str | bytes = b"", **headers: str) -> httpx.Response:
        content = body.encode() if isinstance(body, str) else body
        return self.http.post(path, content=content, headers=headers)


@contextlib.contextmanager
def api_of(
    settings: Settings, options: ServerOptions | None = None, *, has_keys: bool = False
) -> Iterator[Api]:
    """All that the daemon answers; its runs end with it."""
    failures: list[BaseException] = []
    runs = Runs(
        settings.cwd / ".fabric" / "daemon" / "runs",
        settings,
        lambda _run, error: failures.append(error),
    )
    changes = WorldChanges(runs, lambda _stage, _outcome: None)
    endpoints = Endpoints(options or ServerOptions(), settings, changes, has_keys=has_keys)
    routes = (
        *build_config_routes(endpoints),
        *deploy_routes(endpoints),
        *build_action_routes(Actions(endpoints)),
        *run_routes(RunEndpoints(runs)),
    )
    try:
        yield Api(routes, failures)
    finally:
        runs.close()
