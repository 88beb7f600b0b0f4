"""Which routes an Ingress can say by itself, and which need a gate."""

import json
from collections import defaultdict
from collections.abc import Sequence

import pytest
from hypothesis import given, settings

from fabric.local.routes import HttpRoute, Matched, RouteTable
from fabric.providers.cluster.client import ClusterSettings
from fabric.providers.cluster.gate_objects import has_gate_need
from fabric.providers.cluster.objects import build_object_name
from fabric.providers.cluster.routes import build_ingress
from fabric.providers.core.contract import DeploymentAddress, FunctionDraft
from tests.support.route_sets import PLAIN, RoutedRequest, route_sets
from tests.support.servers.cluster.front import service_of

_ADDRESS = DeploymentAddress("shop", "dev", "cluster-orchestrator", "cluster-orchestrator")


def functions(*routes: HttpRoute) -> list[FunctionDraft]:
    found: dict[str, list[str]] = defaultdict(list)
    for one in routes:
        text = json.dumps({"type": "http", "method": one.method, "path": one.path})
        found[one.function].append(text)
    return [FunctionDraft(name, (), tuple(texts)) for name, texts in found.items()]


def gated(*routes: str) -> bool:
    """Each `METHOD /path function`."""
    split = [one.split() for one in routes]
    found = (HttpRoute(method, path, function) for method, path, function in split)
    return has_gate_need(functions(*found))


@pytest.mark.parametrize(
    "routes",
    [
        ("GET /items list", "POST /items make"),
        ("GET /items list", "POST /items/ make"),
        ("GET /users/{id} one", "GET /users/{id}/orders orders"),
        ("GET /users/{id} one", "GET /users/me me"),
        ("ANY /{rest+} site", "GET /api/{id} api"),
        ("ANY /{rest+} site", "GET /hello hello"),
        ("GET /a/{x}/b one", "GET /{y}/c/b other"),
    ],
)
def test_routes_that_meet_need_a_gate(routes: tuple[str, ...]) -> None:
    assert gated(*routes)


@pytest.mark.parametrize(
    "routes",
    [
        ("GET /hello hello",),
        ("GET /items all", "POST /items all", "ANY /items/{id}/{x+} all"),
        ("GET /hello hello", "GET /bye bye"),
        ("GET /users list", "GET /users/{id} one"),
        ("GET /users/me me", "GET /users/{id}/orders orders"),
        ("GET / home", "GET /files/{name+} files"),
        ("GET / home", "GET /{rest+} files"),
        ("GET /user/{id} one", "GET /users/{id} other"),
    ],
)
def test_routes_distinguishable_by_an_ingress_need_no_gateway(routes: tuple[str, ...]) -> None:
    assert not gated(*routes)


@pytest.mark.slow
@pytest.mark.timeout(90)
@given(routes=route_sets(), asked=PLAIN)
@settings(max_examples=150, deadline=None)
def test_ingress_without_gateway_routes_like_a_local_run(
    routes: list[HttpRoute], asked: Sequence[RoutedRequest]
) -> None:
    made = functions(*routes)
    if has_gate_need(made):
        return
    rows, table = build_ingress(_ADDRESS, made, ClusterSettings()), RouteTable(routes)
    assert rows
    for one in asked:
        found = table.find(one.method, one.path)
        if isinstance(found, Matched) and "//" not in one.path:
            service = service_of([rows], "", one.path)
            assert service == build_object_name(_ADDRESS, found.route.function)


def test_with_a_gate_all_paths_lead_to_it() -> None:
    made = functions(HttpRoute("GET", "/a", "one"), HttpRoute("GET", "/b/{id}", "other"))
    rows = build_ingress(_ADDRESS, made, ClusterSettings(), "shop-dev")
    assert {service_of([rows or {}], "", path) for path in ("/a", "/a/", "/b/7")} == {"shop-dev"}
