"""The DNS task of a router: only if it is requested or automatic, after the releases."""

import pytest

from fabric.graph.build_graph import build_graph
from fabric.graph.name_tasks import build_dns_sync_tasks, is_managing_dns
from fabric.model.task import Task
from tests.support.config_texts import loaded
from tests.support.router_project import HOSTNAME, LABELS, config_of

AUTOMATIC = "{hostname: api.example.com, autoApply: true}"
IN_PROD = "{hostname: api.example.com, autoApply: true, allowProdSync: true}"


def tasks(
    router: str = HOSTNAME, *labels: str, stage: str = "dev", is_asked: bool = False
) -> tuple[Task, ...]:
    config = loaded(config_of(router), stage=stage)
    return build_dns_sync_tasks(config, labels or LABELS, is_asked=is_asked)


@pytest.mark.parametrize(
    ("router", "stage"), [(AUTOMATIC, "dev"), (AUTOMATIC, "test"), (IN_PROD, "prod")]
)
def test_automatic_dns_changes_need_no_request(router: str, stage: str) -> None:
    assert tasks(router, stage=stage)


@pytest.mark.parametrize(("router", "stage"), [(HOSTNAME, "dev"), (AUTOMATIC, "prod")])
def test_other_dns_changes_must_be_requested(router: str, stage: str) -> None:
    assert tasks(router, stage=stage) == ()
    assert tasks(router, stage=stage, is_asked=True)


def test_dns_task_needs_the_releases_of_the_routed_targets() -> None:
    (task,) = tasks(HOSTNAME, "main", "spare", "elsewhere", is_asked=True)
    assert task.id == "dns-sync:shop@dev"
    assert task.needs == ("release:shop@main", "release:shop@spare")
    assert is_managing_dns(build_graph([Task(task.id, task.inputs)]))
    assert not is_managing_dns(build_graph([]))


def test_no_dns_task_without_a_router_or_a_routed_target() -> None:
    text = config_of().partition("extensions:")[0]
    assert build_dns_sync_tasks(loaded(text), LABELS, is_asked=True) == ()
    assert tasks(HOSTNAME, "elsewhere", is_asked=True) == ()


def test_dns_task_changes_with_the_router_settings() -> None:
    (one,), (same,) = tasks(is_asked=True), tasks(is_asked=True)
    (other,) = tasks("{hostname: www.example.com}", is_asked=True)
    assert one == same
    assert one.inputs != other.inputs
