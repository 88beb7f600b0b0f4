"""What a cluster cannot do of a config: told at plan, without a call."""

import pytest

from fabric.providers.cluster.client import ClusterSettings
from fabric.providers.cluster.limits import find_unsupported
from fabric.providers.cluster.objects import build_object_name
from fabric.providers.core.contract import DeploymentAddress, FunctionDraft

_ADDRESS = DeploymentAddress("shop", "dev", "cluster-orchestrator", "cluster-orchestrator")
_NODE = (("runtime", "nodejs22.x"),)


def draft(
    name: str = "hello", *triggers: str, runtime: str = "nodejs22.x", **more: str
) -> FunctionDraft:
    return FunctionDraft(name, (("runtime", runtime),), triggers, variables=tuple(more))


def http(path: str, method: str = "GET") -> str:
    return f'{{"type": "http", "method": "{method}", "path": "{path}"}}'


def cron(schedule: str) -> str:
    return f'{{"type": "cron", "schedule": "{schedule}"}}'


def said(*drafts: FunctionDraft) -> list[tuple[str, int | None]]:
    found = find_unsupported(ClusterSettings(), _ADDRESS, drafts)
    return [(one.problem.message, one.trigger) for one in found]


@pytest.mark.parametrize("runtime", ["nodejs", "nodejs18.x", "nodejs24.x", "python", "python3.11"])
def test_runtimes_with_public_images_are_supported(runtime: str) -> None:
    assert said(draft(runtime=runtime)) == []


@pytest.mark.parametrize("runtime", ["python3.9", "nodejs16.x", "go1.x", "java21"])
def test_a_runtime_without_an_image_is_refused(runtime: str) -> None:
    message = f"function `hello` has the runtime `{runtime}`, which has no public image"
    assert said(draft(runtime=runtime)) == [(message, None)]


def test_a_variable_of_the_container_is_refused() -> None:
    message = "function `hello` sets `PORT`, which fabric sets in the container"
    assert said(draft(PORT="1", MODE="x")) == [(message, None)]


def test_a_schedule_that_a_cron_job_cannot_say_is_refused_with_its_place() -> None:
    message = (
        "function `hello` has the schedule `rate(7 minutes)`, which a CronJob does not support: "
        "60 minutes cannot be divided by 7"
    )
    assert said(draft("hello", cron("rate(5 minutes)"), cron("rate(7 minutes)"))) == [(message, 1)]


def test_an_authorizer_is_refused() -> None:
    trigger = '{"type": "http", "path": "/x", "authorizer": "AWS_IAM"}'
    message = "function `hello` has an `authorizer`, which an Ingress does not support"
    assert said(draft("hello", trigger)) == [(message, 0)]


def test_functions_may_share_paths() -> None:
    items = (draft("list", http("/items")), draft("make", http("/items", "POST")))
    users = (draft("one", http("/users/{id}")), draft("orders", http("/users/{id}/orders")))
    assert said(*items, *users, draft("me", http("/users/me"))) == []


def test_names_that_become_the_same_get_digests_and_fit() -> None:
    assert said(draft("Hello"), draft("hello"), draft("hello_")) == []
    assert build_object_name(_ADDRESS, "hello") == "shop-dev-hello"
    assert build_object_name(_ADDRESS, "Hello").startswith("shop-dev-hello-")


def test_names_fit_a_label_however_long_they_are() -> None:
    assert len(build_object_name(_ADDRESS, "x" * 64)) == 63
    assert build_object_name(DeploymentAddress("7up", "dev", "", ""), "x").startswith(
        "f-7up-dev-x-"
    )
