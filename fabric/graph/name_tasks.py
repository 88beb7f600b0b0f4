"""The task that points a router's hostname to released endpoints, if requested."""

import json
from collections.abc import Sequence

from fabric.config.values import Config
from fabric.graph.taskgraph import TaskGraph
from fabric.model.hashing import hash_fields
from fabric.model.task import Task
from fabric.model.task_id import build_dns_sync_id, release_id
from fabric.model.task_inputs import DnsSyncInputs

# The stage whose names need a switch of their own.
_PROD = "prod"


def is_managing_dns(graph: TaskGraph) -> bool:
    return any(True for _ in graph.inputs_of(DnsSyncInputs.kind))


def build_dns_sync_tasks(
    config: Config, labels: Sequence[str], *, is_asked: bool = False
) -> tuple[Task, ...]:
    """Build the DNS task after the releases of all targets, if requested or with `autoApply`."""
    is_named = '"router"' in config.provider.extensions
    router = json.loads(config.provider.extensions).get("router") if is_named else None
    led = [label for label in labels if label in config.target_labels]
    if not router or not led:
        return ()
    is_prod = config.stage == _PROD and not router.get("allowProdSync")
    if not (is_asked or (router.get("autoApply") and not is_prod)):
        return ()
    said = hash_fields((json.dumps(router, sort_keys=True), repr(config.targets)))
    inputs = DnsSyncInputs(config.service, led[0], config.stage, said)
    needs = tuple(release_id(config.service, label) for label in led)
    return (Task(build_dns_sync_id(config.service, config.stage), inputs, needs),)
