"""A graph of some functions, and the needs of a deploy."""

import pytest

from fabric.graph.compile import compile_graph, is_whole_service_deploy
from fabric.graph.service_unit import ServiceUnit
from fabric.model.names import Verb
from fabric.model.records.record import Mode
from tests.support.config_texts import HEAD, loaded

TWO = HEAD + "functions: {a: {entry: a.ts}, b: {entry: b.ts}}\n"


def test_selected_functions_are_compiled_with_their_needs() -> None:
    unit = ServiceUnit(loaded(TWO), "")
    one = compile_graph([unit], Verb.PACKAGE, functions=frozenset({"b"}))
    assert one.levels == (("build:shop/b",), ("package:shop/b",))
    assert len(compile_graph([unit], Verb.PACKAGE)) == 4


@pytest.mark.parametrize(
    ("provider", "mode"),
    [("cloud1-lambda", Mode.COMMAND), ("host1", Mode.REAL), ("host1", Mode.SIMULATED)],
)
def test_some_providers_and_every_command_deploy_functions_together(
    provider: str, mode: Mode
) -> None:
    assert is_whole_service_deploy(provider, mode)


@pytest.mark.parametrize("provider", ["cloud1-lambda", "unknown"])
def test_other_providers_deploy_each_function_separately(provider: str) -> None:
    assert not is_whole_service_deploy(provider, Mode.REAL)
