"""Functions whose routes an Ingress cannot tell apart: from the first deploy to the last one."""

from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from fabric.model.problems import FabricError
from fabric.providers.core.contract import FunctionOrder
from tests.support.cluster_site import ClusterSite
from tests.support.service_site import BYE

pytestmark = [pytest.mark.slow, pytest.mark.timeout(90)]

_FRONT = ("Deployment/shop-dev", "Ingress/shop-dev", "Service/shop-dev")


def http(method: str, path: str) -> str:
    return f'{{"type": "http", "method": "{method}", "path": "{path}"}}'


def items(site: ClusterSite, word: str = "list") -> Iterator[FunctionOrder]:
    yield site.order("list", http("GET", "/items"), word=word)
    yield site.order("make", http("POST", "/items"), word="make")


def front(site: ClusterSite) -> list[str]:
    return [one for one in site.cluster.left() if one in _FRONT]


def gate_files(site: ClusterSite) -> list[str]:
    return [one for one in site.cluster.left() if one.startswith("ConfigMap/shop-dev-gate-")]


def changing(site: ClusterSite) -> list[str]:
    return [one[0] for one in site.cluster.door.changing]


def test_two_functions_share_a_path_by_method(site: ClusterSite) -> None:
    site.up(*items(site))
    assert (site.said("/items"), site.said("/items", "POST")) == ("list", "make")
    assert (site.said("/items", "PUT"), site.said("/other")) == ("405", "404")


def test_path_parameter_and_its_subpath_may_be_two_functions(site: ClusterSite) -> None:
    one = site.order("one", http("GET", "/users/{id}"), word="one")
    orders = site.order("orders", http("GET", "/users/{id}/orders"), word="orders")
    me = site.order("me", http("GET", "/users/me"), word="me")
    site.up(one, orders, me)
    asked = ("/users/7", "/users/7/orders", "/users/me", "/users/me/", "/users/me/orders")
    assert [site.said(path) for path in asked] == ["one", "orders", "me", "me", "orders"]
    assert site.said("/users/7/other") == "404"


def test_a_gate_is_released_before_the_way_to_it(site: ClusterSite) -> None:
    site.deploy(*items(site))
    assert front(site) == []
    site.up(*items(site))
    assert changing(site) == ["apply", "apply", "apply"]
    assert front(site) == list(_FRONT)


def test_an_equal_order_changes_nothing(site: ClusterSite) -> None:
    site.up(*items(site))
    site.cluster.door.reset()
    site.up(*items(site))
    assert changing(site) == []


def test_another_code_changes_no_gate(site: ClusterSite) -> None:
    site.up(*items(site))
    before = gate_files(site)
    site.cluster.door.reset()
    site.up(*items(site, "all"))
    assert (site.said("/items"), site.said("/items", "POST")) == ("all", "make")
    assert (changing(site), gate_files(site)) == (["apply"], before)


def test_another_route_is_cut_over_with_the_release(site: ClusterSite) -> None:
    site.up(*items(site))
    more = site.order("drop", http("DELETE", "/items"), word="drop")
    site.deploy(*items(site), more)
    assert site.said("/items", "DELETE") == "405"
    site.cluster.door.reset()
    site.up(*items(site), more)
    assert site.said("/items", "DELETE") == "drop"
    assert (changing(site), len(gate_files(site))) == (["apply", "delete"], 1)


def test_gateway_pod_exists_only_while_needed(site: ClusterSite) -> None:
    listing, making = items(site)
    site.up(listing)
    assert front(site) == ["Ingress/shop-dev"]
    site.up(listing, making)
    assert site.said("/items", "POST") == "make"
    site.up(listing)
    assert (site.said("/items"), site.said("/items", "POST")) == ("list", "405")
    assert (front(site), gate_files(site)) == (["Ingress/shop-dev"], [])


def test_redeploying_previous_functions_restores_their_routes(site: ClusterSite) -> None:
    site.up(*items(site))
    site.up(site.order("list", http("GET", "/items"), http("POST", "/items"), word="both"))
    assert site.said("/items", "POST") == "both"
    site.up(*items(site))
    assert (site.said("/items"), site.said("/items", "POST")) == ("list", "make")


def test_removing_one_function_removes_its_route_first(site: ClusterSite) -> None:
    site.up(*items(site), site.order("bye", BYE, word="bye"))
    site.destroy("make")
    assert (site.said("/items"), site.said("/bye")) == ("list", "bye")
    assert site.said("/items", "POST") == "405"
    assert (front(site), gate_files(site)) == (["Ingress/shop-dev"], [])


def test_a_service_with_a_gate_can_be_dissolved_twice(site: ClusterSite) -> None:
    site.up(*items(site))
    site.dissolve()
    site.dissolve()
    assert site.cluster.left() == []


def test_deleted_gateway_is_recreated(site: ClusterSite) -> None:
    site.up(*items(site))
    site.cluster.remove("Deployment/shop-dev")
    site.cluster.remove("Service/shop-dev")
    site.up(*items(site))
    assert site.said("/items", "POST") == "make"


def test_a_gate_without_an_image_changes_no_way_in(site: ClusterSite) -> None:
    listing, making = items(site)
    site.up(listing)
    site.extension = {"gateImage": "registry.invalid/other:1"}
    with pytest.raises(FabricError) as caught:
        site.up(listing, making)
    found = caught.value.first
    said = "the gateway pod of the service does not start, ErrImagePull: cannot pull "
    assert found.message == f'{said}"registry.invalid/other:1"'
    assert "`gateImage`" in found.hint
    assert site.said("/items") == "list"
    site.extension = {}
    site.up(listing, making)
    assert site.said("/items", "POST") == "make"


def test_gateway_has_the_configured_number_of_pods(site: ClusterSite) -> None:
    site.extension = {"gatePods": 2}
    site.up(*items(site))
    assert len(site.cluster.double.workloads.pods["shop-dev"]) == 2


def test_a_gate_gives_a_function_the_time_that_it_has(site: ClusterSite) -> None:
    order = replace(next(items(site)), settings=(("timeout", "90"),))
    site.up(order, list(items(site))[1])
    deployment = site.cluster.double.objects["Deployment/shop-dev"]
    assert deployment["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] == 100
    (name,) = gate_files(site)
    routes = site.cluster.double.objects[name]["data"]["file3"]
    assert '"seconds":90' in routes.replace(" ", "")


def test_foreign_resource_with_the_gateway_name_is_reported_and_not_modified(
    site: ClusterSite,
) -> None:
    theirs = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "shop-dev", "generation": 1},
        "spec": {"selector": {"app": "theirs"}},
    }
    site.cluster.double.objects["Service/shop-dev"] = theirs
    with pytest.raises(FabricError) as caught:
        site.up(*items(site))
    assert caught.value.first.code == "deploy/foreign"
    site.dissolve()
    assert site.cluster.left() == ["Service/shop-dev"]
