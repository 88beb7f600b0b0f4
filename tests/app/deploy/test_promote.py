"""Graphs of promotions: compared builds, and packages that become stored archives."""

from msgspec.structs import replace

from fabric.app.deploy.promote import compare_builds, replace_packages
from fabric.graph.build_graph import build_graph
from fabric.graph.taskgraph import TaskGraph
from fabric.model.task import Task
from fabric.model.task_id import TaskId
from fabric.model.task_inputs import (
    BuildInputs,
    DeployInputs,
    PackageInputs,
    StoredArchiveInputs,
)

BUILD = BuildInputs("shop", "hello", ".", "hello.ts", "nodejs22.x")
PACKAGE = TaskId("package:shop/hello")
DEPLOY = DeployInputs("shop", "hello", "cloud1-lambda", "prod", "real", (), ())
STORED = StoredArchiveInputs(
    "shop", "hello", "dev", "cloud1-lambda", sha256="a", content="b", handler="c"
)


def graph(build: BuildInputs = BUILD) -> TaskGraph:
    made, deploy = TaskId("build:shop/hello"), TaskId("deploy:shop/hello@cloud1-lambda")
    return build_graph(
        [
            Task(made, build),
            Task(PACKAGE, PackageInputs("shop", "hello", "."), (made,)),
            Task(deploy, DEPLOY, (PACKAGE,)),
        ]
    )


def test_builds_with_equal_inputs_do_not_differ() -> None:
    assert compare_builds(graph(), graph(), PACKAGE) == []


def test_inputs_that_differ_are_named() -> None:
    other = replace(BUILD, define=(("STAGE", "prod"),), minify=True)
    assert compare_builds(graph(), graph(other), PACKAGE) == ["define", "minify"]


def test_packages_become_stored_archives_and_builds_are_dropped() -> None:
    found = replace_packages(graph(), {PACKAGE: STORED}, "dev")
    assert found.levels == (
        ("package:shop/hello@dev",),
        ("deploy:shop/hello@cloud1-lambda",),
    )
    assert found.tasks[0].inputs == STORED
