"""A request takes the route where it is deployed that it takes on the developer's machine."""

import json
import subprocess
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from fabric.local.routes import HttpRoute, Matched, RouteTable
from fabric.runtimes.python.serving_routes import match_route, routes_of
from tests.support.bundler_cache import ENVIRONMENT
from tests.support.project import REPO
from tests.support.route_sets import RoutedRequest, requests, route_sets

pytestmark = [pytest.mark.slow, pytest.mark.timeout(90)]

_TABLES = {
    "cluster": REPO / "fabric" / "runtimes" / "nodejs" / "serving_routes.mjs",
    "workers": REPO / "fabric" / "providers" / "edge1" / "worker" / "routes.mjs",
}
_PROGRAM = REPO / "tests" / "support" / "node_routes.mjs"
Found = list[Any]


class NodeTable:
    """A table of JavaScript."""

    def __init__(self, child: "subprocess.Popen[str]") -> None:
        self._child = child

    def find(self, routes: Sequence[HttpRoute], asked: Sequence[RoutedRequest]) -> list[Found]:
        assert self._child.stdin
        assert self._child.stdout
        self._child.stdin.write(json.dumps({"rows": rows(routes), "requests": asked}) + "\n")
        self._child.stdin.flush()
        found: list[Found] = json.loads(self._child.stdout.readline())
        return found


@pytest.fixture(scope="module", params=_TABLES.values(), ids=[*_TABLES])
def node_table(request: pytest.FixtureRequest) -> Iterator[NodeTable]:
    argv = ["node", str(_PROGRAM), str(request.param)]
    pipe = subprocess.PIPE
    env = {"PATH": ENVIRONMENT["PATH"]}
    with subprocess.Popen(argv, stdin=pipe, stdout=pipe, text=True, env=env) as child:
        yield NodeTable(child)


def rows(routes: Sequence[HttpRoute]) -> list[dict[str, str]]:
    return [{"method": one.method, "path": one.path, "function": one.function} for one in routes]


def locally(routes: Sequence[HttpRoute], asked: Sequence[RoutedRequest]) -> list[Found]:
    table = RouteTable(routes)
    return [_shown(table.find(one.method, one.path)) for one in asked]


def _shown(found: object) -> Found:
    if not isinstance(found, Matched):
        return list(getattr(found, "allowed", ()))
    route = found.route
    return [route.function, route.method, route.path, dict(found.parameters)]


@given(routes=route_sets(), asked=requests())
@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_gate_chooses_as_a_local_run_does(
    node_table: NodeTable, routes: list[HttpRoute], asked: list[RoutedRequest]
) -> None:
    assert node_table.find(routes, asked) == locally(routes, asked)


@given(routes=route_sets(), asked=requests())
@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_pod_of_python_chooses_as_a_local_run_does(
    routes: list[HttpRoute], asked: list[RoutedRequest]
) -> None:
    table = routes_of(rows(routes))
    for one, wanted in zip(asked, locally(routes, asked), strict=True):
        found = match_route(table, one.method, one.path)
        key = f"{wanted[1]} {wanted[2]}" if len(wanted) == 4 and isinstance(wanted[3], dict) else ""
        assert found.key == key
        assert found.parameters == (wanted[3] if key else {})
        assert found.allowed == ([] if key else wanted)
