"""The task that leads a router's name to what was released, where the config asks for it."""

import json

from fabric.config.values import Config
from fabric.graph.taskgraph import TaskGraph
from fabric.model.hashing import digest_fields
from fabric.model.task import Task
from fabric.model.task_id import dns_sync_id, release_id
from fabric.model.task_inputs import DnsSyncInputs

# The stage whose names need a switch of their own.
_PROD = "prod"


def leads_names(graph: TaskGraph) -> bool:
    return any(True for _ in graph.inputs_of(DnsSyncInputs.kind))


def dns_sync_tasks(config: Config) -> tuple[Task, ...]:
    """After the release: one, where `autoApply` is on and the provider is one of the targets."""
    label = config.provider.label
    router = json.loads(config.extensions).get("router") if '"router"' in config.extensions else {}
    is_prod = config.stage == _PROD and not router.get("allowProdSync")
    if not router.get("autoApply") or label not in config.targets.labels or is_prod:
        return ()
    said = digest_fields((json.dumps(router, sort_keys=True), repr(config.targets)))
    inputs = DnsSyncInputs(config.service, label, config.stage, said)
    needs = (release_id(config.service, label),)
    return (Task(dns_sync_id(config.service, config.stage), inputs, needs),)
