"""The order in which services are deleted."""

from msgspec.structs import replace

from fabric.app.deploy.remove import build_removal_graph
from fabric.graph.taskgraph import TaskGraph
from fabric.model.records.record import Mode, Record, RecordRef
from tests.app.deploy.scopes import deployed
from tests.support.records import function

AUTH, SHOP, SPARE = deployed("auth"), deployed("shop"), deployed("shop", "host1")
DEPENDENTS = {"auth": frozenset({"shop"})}


def graph_of(*records: Record, names: frozenset[str] = frozenset()) -> TaskGraph:
    return build_removal_graph({one.ref: one for one in records}, DEPENDENTS, names)


def needs_of(graph: TaskGraph) -> dict[str, set[str]]:
    return {task.id: set(task.needs) for task in graph.tasks}


def test_a_service_is_deleted_after_all_targets_of_its_dependents() -> None:
    needs = needs_of(graph_of(AUTH, SHOP, SPARE))
    assert needs["remove:auth/hello@cloud1-lambda"] == {
        "remove:shop@cloud1-lambda",
        "remove:shop@host1",
    }
    assert needs["remove:auth@cloud1-lambda"] == {"remove:auth/hello@cloud1-lambda"}
    assert needs["remove:shop/hello@cloud1-lambda"] == set()


def test_a_dependent_that_is_not_deployed_is_not_waited_for() -> None:
    assert needs_of(graph_of(AUTH))["remove:auth/hello@cloud1-lambda"] == set()


def test_named_functions_are_deleted_and_their_service_stays() -> None:
    two = replace(SHOP, functions=(function(), function("world")))
    graph = graph_of(AUTH, two, names=frozenset({"world"}))
    assert [task.id for task in graph.tasks] == ["remove:shop/world@cloud1-lambda"]


def test_a_service_of_one_version_is_deleted_by_one_task() -> None:
    whole = replace(
        SPARE, ref=RecordRef("shop", "dev", "host1"), provider_id="host1", mode=Mode.REAL
    )
    assert [task.id for task in graph_of(whole).tasks] == ["remove:shop@host1"]
