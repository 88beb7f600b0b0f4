"""The changes of a deploy, per function and field, for plans."""

import json
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from fabric.graph.decide import Action, Change, Decision
from fabric.graph.judge import build_wanted, compare_with_live, find_dropped_functions
from fabric.graph.plan import Plan
from fabric.model.calls.concurrency import format_settings
from fabric.model.late_values import change_texts, fill_bindings
from fabric.model.outcomes.json_struct import Json
from fabric.model.outcomes.planned import PlannedFunction, PlannedService
from fabric.model.records.record import FunctionRecord, Record, RecordRef
from fabric.model.secrets.secret_pins import find_secret_source, shorten_version
from fabric.model.task import EntryKind, InputEntry, Pairs, Task
from fabric.model.task_id import TaskId, is_kind, package_of, remove_target_suffix
from fabric.model.task_inputs import DeployInputs, RemoveInputs, Spec

Fields = dict[str, tuple[Json, Json]]
Code = tuple[InputEntry, ...]
_SET, _OTHER = "(set)", "(another value)"
_DIGEST = 64
# Settings that a graph contains only as hashes.
_HASHED = ("triggers", "layers", "tags")
_SHOWN = 12


class PlannedDeploy(Struct, frozen=True):
    """The known facts of one function before a run: the decisions on its deploy, its archive and
    its layers."""

    inputs: DeployInputs
    spec: Spec
    decision: Decision
    package: Decision
    upstream: Pairs
    layers: tuple[Decision, ...] = ()


def compare_with_deployed(
    services: Sequence[PlannedService],
    made: Plan,
    records: Mapping[RecordRef, Record | None],
    code: Code,
) -> tuple[PlannedService, ...]:
    """Compare the rows of a plan with the deployed functions."""
    planned_deploys = {
        (*_get_target(planned.inputs), planned.spec[0]): planned
        for planned in _list_planned_deploys(made)
    }
    by_name = {(ref.service, ref.provider): record for ref, record in records.items()}
    going = _list_deleted_functions(made, by_name)
    return tuple(
        _build_service_row(row, planned_deploys, by_name.get(_get_target(row)), code, going)
        for row in services
    )


def _list_deleted_functions(
    made: Plan, records: Mapping[tuple[str, str], Record | None]
) -> frozenset[tuple[str, str, str]]:
    """List the functions, with service and provider, that this run would delete."""
    found: set[tuple[str, str, str]] = set()
    for task in made.graph.tasks:
        match task.inputs:
            case RemoveInputs(function=function) as inputs:
                found.add((*_get_target(inputs), function))
            case DeployInputs() as inputs:
                record = records.get(_get_target(inputs))
                dropped = find_dropped_functions(record, inputs) if record else ()
                found.update((*_get_target(inputs), name) for name in dropped)
            case _:
                pass
    return frozenset(found)


def _list_planned_deploys(made: Plan) -> Iterator[PlannedDeploy]:
    decisions = dict(zip(made.graph.ids, made.decisions, strict=True))
    for task in made.graph.tasks:
        if isinstance(task.inputs, DeployInputs):
            upstream = tuple(sorted(_list_input_hashes(task, decisions)))
            for spec in task.inputs.functions:
                package = decisions[package_of(task.needs, task.inputs.service, spec[0])]
                layers = tuple(decisions[need] for need in task.needs if is_kind(need, "layer"))
                decision = decisions[task.id]
                yield PlannedDeploy(
                    inputs=task.inputs,
                    spec=spec,
                    decision=decision,
                    package=package,
                    upstream=upstream,
                    layers=layers,
                )


def _get_target(one: DeployInputs | RemoveInputs | PlannedService) -> tuple[str, str]:
    return one.service, one.provider


def _list_input_hashes(
    task: Task, decisions: Mapping[TaskId, Decision]
) -> Iterator[tuple[str, str]]:
    for need in task.needs:
        output = decisions[need].output
        if output is not None:
            yield remove_target_suffix(need), output.digest


def _build_service_row(
    row: PlannedService,
    planned_deploys: Mapping[tuple[str, str, str], PlannedDeploy],
    record: Record | None,
    code: Code,
    going: frozenset[tuple[str, str, str]],
) -> PlannedService:
    functions = [
        _build_function_row(one, planned_deploys.get((*_get_target(row), one.name)), record, code)
        for one in row.functions
    ]
    live = record.functions if record else ()
    gone = [one for one in live if (*_get_target(row), one.name) in going]
    return replace(row, functions=(*functions, *map(_build_deleted_row, gone)))


def _build_deleted_row(one: FunctionRecord) -> PlannedFunction:
    triggers = tuple(json.loads(trigger) for trigger in one.triggers)
    return PlannedFunction(one.name, triggers, tuple(one.layers), "delete")


def _build_function_row(
    row: PlannedFunction, planned: PlannedDeploy | None, record: Record | None, code: Code
) -> PlannedFunction:
    if planned is None:
        return replace(row, change="none", fields={})
    was = record.function(row.name) if record else None
    if record is None or was is None or not was.was_made:
        return replace(row, change="create", fields=_list_new_fields(row, planned))
    fields = (
        {}
        if planned.decision.action is Action.SKIP
        else _compare_fields(row, planned, record, code)
    )
    return replace(row, change="update" if fields else "none", fields=fields)


def _list_new_fields(row: PlannedFunction, planned: PlannedDeploy) -> Fields:
    """List the configured settings of a new function, without values of its environment."""
    _, settings, env = planned.spec
    plain = (pair for pair in format_settings(settings) if pair[0] not in _HASHED)
    said: dict[str, Json] = {
        **{path: value for name, text in plain for path, value in _list_values(name, text)},
        "triggers": list(row.triggers),
        "layers": list(row.layers),
        **{f"env.{name}": _SET for name, _ in env},
    }
    return {name: (None, value) for name, value in said.items() if value not in ("", "0", [])}


def _compare_fields(
    row: PlannedFunction, planned: PlannedDeploy, record: Record, code: Code
) -> Fields:
    was = record.function(row.name)
    if was is None:
        return {}
    asked = build_wanted(planned.inputs, planned.spec, code, planned.upstream)
    changes = [
        one for one in compare_with_live(asked, was, record.salt) if not _is_unknown_upstream(one)
    ]
    fields = dict(field for change in changes for field in _format_field_changes(change, row, was))
    if planned.package.output is None:
        fields["code"] = (was.artifact_sha256[:_SHOWN], planned.package.reason)
    moved = [one.reason for one in planned.layers if one.output is None]
    if moved:
        fields["layers"] = (was.layers, moved[0])
    if not fields and not was.key:
        fields["state"] = ("unknown", "deployed")
    return fields


def _is_unknown_upstream(change: Change) -> bool:
    """Return whether the change is only an upstream without a known hash, which is not a change."""
    return change.kind == EntryKind.UPSTREAM and not change.new


def _list_values(name: str, text: str) -> Iterator[tuple[str, Json]]:
    """Yield the values of a setting: one, or those of its map. Versions of secrets are short."""
    if find_secret_source(name):
        yield name, shorten_version(text)
        return
    if text.startswith("["):
        yield name, json.loads(text)
        return
    if not text.startswith("{"):
        yield from [(name, text)] if text else []
        return
    default = {"authorizer": "NONE"} if name == "url" else {}
    for key, value in {**default, **json.loads(text)}.items():
        yield f"{name}.{key}", value


def _format_field_changes(
    change: Change, row: PlannedFunction, was: FunctionRecord
) -> Iterator[tuple[str, tuple[Json, Json]]]:
    """Yield the change of a setting, or the changes in its map."""
    is_json = bool({"{", "["} & {change.old[:1], change.new[:1]})
    if change.kind != EntryKind.OPTION or not is_json:
        yield _format_field_change(change, row, was)
        return
    yield from format_setting_changes(change)


def format_setting_changes(change: Change) -> Iterator[tuple[str, tuple[Json, Json]]]:
    """Format the change of a setting, with one row for each changed key of a map."""
    old, new = (dict(_list_values(change.name, text)) for text in (change.old, change.new))
    for name in dict.fromkeys((*old, *new)):
        if old.get(name) != new.get(name):
            yield name, (_shorten(old.get(name)), _shorten(new.get(name)))


def _shorten(value: Json) -> Json:
    return _shorten_hash(value) if isinstance(value, str) else value or None


def _format_field_change(
    change: Change, row: PlannedFunction, was: FunctionRecord
) -> tuple[str, tuple[Json, Json]]:
    """Format a change with config field names. For environment values it shows only that they
    changed."""
    if change.kind == EntryKind.ENV:
        old, new = (_SET if change.old else None), (_SET if change.new else None)
        return f"env.{change.name}", (old, _OTHER if old and new else new)
    if change.kind == EntryKind.UPSTREAM:
        name = "code" if change.name.startswith("package:") else change.name
        return name, (_shorten_hash(change.old), _shorten_hash(change.new))
    if change.name == "triggers":
        triggers = [json.loads(one) for one in was.triggers]
        return "triggers", (triggers, _fill_late(row.triggers, was))
    if change.name == "layers":
        return "layers", (was.layers, _fill_late(row.layers, was))
    return change.name, (_shorten_hash(change.old), _shorten_hash(change.new))


def _fill_late(rows: Json, was: FunctionRecord) -> Json:
    """Fill late values that are known from the last deploy."""
    late = dict(was.late)
    if not late:
        return rows
    filled: Json = change_texts(rows, lambda text: fill_bindings(text, late))
    return filled


def _shorten_hash(text: str) -> str | None:
    return text[:_SHOWN] if len(text) == _DIGEST else text or None
