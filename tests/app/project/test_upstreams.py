"""Variables of dependencies, and the order of services."""

import pytest

from fabric.app.project.upstreams import (
    UpstreamService,
    build_upstream_placeholders,
    list_all_dependents,
    list_all_upstreams,
    map_needs,
    sort_upstreams_first,
)
from fabric.config.values import ComposeService
from fabric.model.late_values import find_late_names

SERVICES = [
    ComposeService("web", "web/fabric.yml", ("shop", "auth")),
    ComposeService("shop", "shop/fabric.yml", ("auth",)),
    ComposeService("", "jobs/fabric.yml"),
    ComposeService("auth", "auth/fabric.yml"),
]
NEEDS = map_needs(SERVICES)


@pytest.mark.parametrize(
    ("name", "variables"),
    [
        ("auth", ("SERVICE_AUTH_URL", "FABRIC_OUTPUT_AUTH_CLOUD1_LAMBDA_ENDPOINT")),
        ("my.auth-2", ("SERVICE_MY_AUTH_2_URL", "FABRIC_OUTPUT_MY_AUTH_2_CLOUD1_LAMBDA_ENDPOINT")),
    ],
)
def test_a_dependency_has_two_variables(name: str, variables: tuple[str, str]) -> None:
    found = UpstreamService(name, "login", "cloud1-lambda")
    assert found.variables == variables
    assert found.release == "release:login@cloud1-lambda"


def test_each_variable_has_a_placeholder_until_it_is_known() -> None:
    found = build_upstream_placeholders([UpstreamService("auth", "auth", "p")])
    assert {name: find_late_names(text) for name, text in found.items()} == {
        name: (name,) for name in ("SERVICE_AUTH_URL", "FABRIC_OUTPUT_AUTH_P_ENDPOINT")
    }


def test_indirect_dependencies_and_dependents_are_listed() -> None:
    assert list_all_upstreams("web", NEEDS) == ("auth", "shop")
    assert list_all_upstreams("auth", NEEDS) == ()
    assert list_all_dependents("auth", NEEDS) == ("shop", "web")


def test_a_service_of_a_cycle_does_not_depend_on_itself() -> None:
    needs = {"a": ("b",), "b": ("a",)}
    assert list_all_upstreams("a", needs) == ("b",)


def test_services_are_sorted_after_their_dependencies() -> None:
    assert [one.name for one in sort_upstreams_first(SERVICES)] == ["", "auth", "shop", "web"]
