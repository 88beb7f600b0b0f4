"""Compose files: the services, what they need, and every way to get that wrong."""

import pytest

from fabric.config.compose import complete_compose, load_compose
from fabric.config.values import Compose, ComposeService
from fabric.model.problems import FabricError, Place, Problem
from fabric.model.text.spelling import compute_edit_distance, find_nearest
from fabric.model.walks import find_cycle


def _loaded(text: str) -> Compose:
    return load_compose("fabric.compose.yml", text.encode())


def _problem(text: str) -> Problem:
    with pytest.raises(FabricError) as caught:
        _loaded(text)
    return caught.value.first


def test_services_are_a_list_or_a_map() -> None:
    listed = _loaded("services: [{name: a, config: a}, {name: b, config: b, dependsOn: [a]}]")
    by_name = _loaded("services: {a: {config: a}, b: {config: b, dependsOn: [a]}}")
    assert listed == by_name
    assert listed.services[1] == ComposeService("b", "b", ("a",))


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        ("", "compose/no-services", "no services found"),
        ("~", "compose/no-services", "no services found"),
        ("services: []", "compose/no-services", "no services found"),
        ("services: {}", "compose/no-services", "no services found"),
        ("- a", "config/wrong-type", "a map"),
        ("services: [{name: a}]", "config/missing-key", "config"),
        ("service: [{name: a}]", "config/unknown-key", "service"),
        (
            "services: [{name: a, config: x}, {name: a, config: y}]",
            "compose/duplicate-service",
            "`a`",
        ),
        ("services: [{name: a, config: x, dependsOn: [b]}]", "compose/unknown-dependency", "`b`"),
        (
            "services: {a: {config: x, dependsOn: [b]}, b: {config: y, dependsOn: [c]}, "
            "c: {config: z, dependsOn: [b]}}",
            "compose/cycle",
            "b -> c -> b",
        ),
        ("services: {a: {config: x, dependsOn: [a]}}", "compose/cycle", "a -> a"),
        ("a: [", "config/syntax", "YAML"),
    ],
)
def test_a_wrong_compose_file_names_the_culprit(text: str, code: str, words: str) -> None:
    found = _problem(text)
    assert found.code == code
    assert words in found.message


def test_an_unknown_dependency_has_a_place_and_a_guess() -> None:
    found = _problem(
        "services:\n  - {name: api, config: x}\n  - {name: b, config: y, dependsOn: [apo]}\n"
    )
    assert str(found.where) == "fabric.compose.yml:3:12"
    assert found.hint == "did you mean `api`?"


@pytest.mark.parametrize("pattern", ["/abs/one.yml", "***/x", "a**/fabric.yml", ".", "./"])
def test_include_that_is_not_a_relative_pattern_is_rejected_at_its_place(pattern: str) -> None:
    found = _problem(f"include:\n  - 's/*/fabric.yml'\n  - '{pattern}'\n")
    assert found.code == "compose/bad-include"
    assert pattern in found.message
    assert found.where == Place("fabric.compose.yml", 3, 5)


def test_names_are_settled_after_the_includes_are_found() -> None:
    compose = _loaded("include: ['s/*/fabric.yml']\nservices: {a: {config: a, dependsOn: [b]}}")
    assert compose.include == ("s/*/fabric.yml",)
    whole = complete_compose(compose, [ComposeService("b", "s/b/fabric.yml")])
    assert [service.name for service in whole.services] == ["a", "b"]


@pytest.mark.parametrize(
    ("included", "code"),
    [
        ((), "compose/unknown-dependency"),
        ((ComposeService("a", "x"), ComposeService("b", "y")), "compose/duplicate-service"),
        ((ComposeService("b", "y", ("a",)),), "compose/cycle"),
    ],
)
def test_included_services_are_validated(included: tuple[ComposeService, ...], code: str) -> None:
    compose = _loaded("include: [x]\nservices: {a: {config: a, dependsOn: [b]}}")
    with pytest.raises(FabricError) as caught:
        complete_compose(compose, included)
    assert caught.value.first.code == code


def test_include_without_a_match_is_an_error_without_services() -> None:
    with pytest.raises(FabricError) as caught:
        complete_compose(_loaded("include: [x]"))
    assert caught.value.first.code == "compose/no-services"


def test_long_chain_is_not_a_cycle() -> None:
    chain = {str(i): [str(i + 1)] for i in range(20_000)}
    assert find_cycle(chain) == ()
    assert find_cycle(chain | {"20000": ["0"]})[0] == "0"


def test_nearest_word_is_close_or_empty() -> None:
    assert find_nearest("depoly", ["deploy", "remove"]) == "deploy"
    assert find_nearest("x", ["a", "b"]) == ""
    assert find_nearest("y" * 100, ["y" * 99]) == ""
    assert compute_edit_distance("", "abc") == 3
