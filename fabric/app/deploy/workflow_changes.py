"""The changes of workflows, compared with the state. No call is made."""

import json
from collections.abc import Iterator

from fabric.app.deploy.changes import Fields, format_setting_changes
from fabric.app.records.scope import DeployScope
from fabric.graph.decide import Action
from fabric.graph.plan import Plan
from fabric.model.outcomes.json_struct import Json
from fabric.model.outcomes.planned import PlannedWorkflow
from fabric.model.records.record import WorkflowRecord
from fabric.model.task import Pairs
from fabric.model.task_inputs import WorkflowInputs
from fabric.tasks.deploy_tools import get_record_ref
from fabric.tasks.workflow import compare_settings

# Settings that a graph contains only as hashes, or that follow from others.
_HASHED = ("definition", "substitutions")


def list_planned_workflows(made: Plan, scope: DeployScope) -> Iterator[PlannedWorkflow]:
    decisions = dict(zip(made.graph.ids, made.decisions, strict=True))
    for task in made.graph.tasks:
        inputs = task.inputs
        if not isinstance(inputs, WorkflowInputs):
            continue
        record = scope.record(get_record_ref(inputs))
        was = record.workflow(inputs.name) if record else None
        is_same = decisions[task.id].action is Action.SKIP
        change, fields = "delete", {}
        if not inputs.is_removed:
            drafts = scope.values.workflow_drafts(get_record_ref(inputs))
            triggers = {one.name: one.triggers for one in drafts}.get(inputs.name, ())
            change = "none" if is_same else "update" if was and was.version else "create"
            before = was if change == "update" else None
            fields = _list_fields(before, inputs.settings, triggers) if not is_same else {}
        yield PlannedWorkflow(inputs.service, inputs.provider, inputs.name, change, fields)


def _list_fields(was: WorkflowRecord | None, settings: Pairs, triggers: tuple[str, ...]) -> Fields:
    """List the settings of a new workflow, or the changed settings."""
    changes = compare_settings(was or WorkflowRecord(name=""), settings)
    found: Fields = {}
    for change in changes:
        if change.name == "triggers":
            old = was.triggers if was else ()
            found["triggers"] = (_parse(old) or None, _parse(triggers))
        elif change.name in _HASHED and was is None:
            found[change.name] = (None, "(set)")
        elif change.name != "calls":
            found |= dict(format_setting_changes(change))
    return found


def _parse(triggers: tuple[str, ...]) -> Json:
    return [json.loads(one) for one in triggers]
