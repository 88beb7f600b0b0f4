"""Which service waits for which, and how deep it stands."""

from fabric.graph.build_graph import build_graph
from fabric.graph.service_order import compute_levels, list_ties
from fabric.graph.taskgraph import TaskGraph
from fabric.model.task import Task
from fabric.model.task_id import TaskId
from fabric.model.task_inputs import PackageInputs


def graph(**needs: str) -> TaskGraph:
    return build_graph(
        Task(
            TaskId(f"package:{name}/f"),
            PackageInputs(name, "f", name),
            tuple(TaskId(f"package:{one}/f") for one in ups.split()),
        )
        for name, ups in needs.items()
    )


def test_transitive_ties_are_omitted() -> None:
    whole = graph(auth="", api="auth", site="api auth", jobs="auth")
    assert list_ties(whole) == (("api", "site"), ("auth", "api"), ("auth", "jobs"))


def test_service_level_is_its_longest_dependency_path() -> None:
    whole = graph(auth="", stock="", api="auth", site="api stock")
    assert compute_levels(["auth", "stock", "api", "site"], list_ties(whole)) == {
        "auth": 0,
        "stock": 0,
        "api": 1,
        "site": 2,
    }
