"""Graphs of checks and queries: independent tasks on one level."""

import pytest

from fabric.graph.build_graph import build_graph
from fabric.graph.probes import OBSERVE_INPUTS, build_observation_graph, probe_graph
from fabric.model.records.record import RecordRef

HERE = RecordRef("shop", "dev", "cloud1-lambda")
THERE = RecordRef("shop", "dev", "edge1-workers")


def test_checks_of_a_service_are_independent_tasks() -> None:
    graph = probe_graph(HERE, ["disk", "account"])
    assert graph.levels == (("probe:shop/account@cloud1-lambda", "probe:shop/disk@cloud1-lambda"),)
    assert [one.kind for one in graph.inputs_of("probe")] == ["probe", "probe"]


def test_check_without_a_service_has_only_its_name() -> None:
    assert probe_graph(RecordRef("", "", ""), ["disk"]).ids == ("probe:disk",)


@pytest.mark.parametrize("kind", sorted(OBSERVE_INPUTS))
def test_observation_graph_equals_a_compiled_one(kind: str) -> None:
    graph = build_observation_graph(kind, [THERE, HERE, HERE])
    assert graph.ids == (f"{kind}:shop@cloud1-lambda", f"{kind}:shop@edge1-workers")
    assert graph == build_graph(graph.tasks)
