"""A plan for people: functions with their change, tasks with their reason, one line to sum up."""

import json
import re
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from fabric.model.names import DEFAULT_ROUTE
from fabric.model.outcomes.json_struct import Json, JsonObject
from fabric.model.outcomes.planned import (
    Cause,
    ChangedInput,
    ExplainOutcome,
    PlannedApi,
    PlannedFunction,
    PlannedService,
    PlannedStack,
    PlannedTask,
    PlannedWorkflow,
    PlanOutcome,
)
from fabric.model.secrets.secret_pins import find_secret_source
from fabric.model.task_id import is_kind
from fabric.model.text.amounts import format_count
from fabric.model.text.natural_order import make_natural_key
from fabric.views.style import Style

_SIGNS = {"create": "+", "update": "~", "delete": "-"}
_RESOURCE_SIGNS = {"add": "+", "change": "~", "replace": "-/+", "delete": "-"}
_ACTIONS = {"run": "run ", "wait": "pending"}
_KINDS = {"option": "setting"}
_SHOWN = 40
# Of these, nothing in the config is told as none.
_OWN_WITHOUT, _UNSET, _OWN = ("memory", "timeout"), "0", "provider default"
_DIGEST_LENGTH = 64
# Who can call the URL of a function, and the values with which everybody can.
_URL_ACCESS = frozenset({"url", "url.authorizer"})
_PUBLIC = ("true", "NONE")
# All actions, all of a service, or all resources.
_WILDCARD = re.compile(r"(?:Allow|,) (?:[\w-]+:)?\*(?:,| on )|(?: on|,) \*(?:,|$)")
# The start of `NotAction` and `NotResource`.
_EXCEPT = "all except "
_SHORT_DIGEST = re.compile(r"[0-9a-f]{12}")


def plan_text(plan: PlanOutcome, style: Style) -> str:
    """Format the whole plan. Up-to-date tasks are counted, not listed."""
    blocks = [
        *(_format_service(service, style) for service in plan.services),
        *(_format_stack(stack, style) for stack in plan.stacks),
        *(_format_workflow(workflow, style) for workflow in plan.workflows),
        *(_format_api(api, style) for api in plan.apis),
    ]
    busy = [task for task in plan.tasks if task.action != "skip"]
    busy.sort(key=lambda task: (task.level, make_natural_key(task.id)))
    busy = _join_wheels(busy)
    return "\n".join(
        [
            *(block for block in blocks if block),
            *_format_tasks(busy, style),
            _format_last_line(plan),
        ]
    )


def _join_wheels(tasks: Sequence[PlannedTask]) -> list[PlannedTask]:
    """Replace the rows of wheels with one: a lock can have hundreds."""
    wheels = [task for task in tasks if task.kind == "wheel"]
    if not wheels[1:]:
        return list(tasks)
    reasons = ", ".join(dict.fromkeys(task.reason for task in wheels))
    row = replace(wheels[0], id=format_count(len(wheels), "wheel"), reason=reasons)
    return [row, *(task for task in tasks if task.kind != "wheel")]


def _format_last_line(plan: PlanOutcome) -> str:
    summary = plan.summary
    if not (summary.run or summary.wait):
        return "No changes."
    # A waiting task may turn out to be needless, so it is no part of "up to date" either.
    waiting = f", {summary.wait} pending" if summary.wait else ""
    return (
        f"Plan: {_format_counts(plan)}; {format_count(summary.tasks, 'task')}: "
        f"{summary.run} run{waiting}, {summary.skip} up to date."
    )


def _format_counts(plan: PlanOutcome) -> str:
    """Format the numbers of functions, and of workflows and stacks if these change."""
    one = plan.summary
    functions = f"{one.create} to create, {one.update} to update, {one.delete} to delete"
    workflows = [workflow.change for workflow in plan.workflows]
    more = [
        f"{format_count(workflows.count(change), 'workflow')} to {change}"
        for change in _SIGNS
        if change in workflows
    ]
    stacks = sum(task.kind == "stack" and task.action != "skip" for task in plan.tasks)
    more += [f"{format_count(stacks, 'stack')} to change"] * bool(stacks)
    if more and (one.create or one.update or one.delete):
        more.insert(0, f"functions: {functions}")
    return ", ".join(more) or functions


def _format_service(service: PlannedService, style: Style) -> str:
    changed = [one for one in service.functions if one.change != "none"]
    if not changed:
        return ""
    head = f"{style.strong(service.service)} on {service.provider} ({service.mode})"
    lines = [line for one in changed for line in _format_function(one, style)]
    return "\n".join([head, *lines, ""])


def _format_stack(stack: PlannedStack, style: Style) -> str:
    if not stack.resources:
        return ""
    head = f"stack {style.strong(stack.name)} of {stack.service}"
    rows = (
        f"{_RESOURCE_SIGNS[one.action]:>3} {one.id}  {style.dim(one.type)}"
        + (" (replaced)" if one.action == "replace" else "")
        for one in stack.resources
    )
    return "\n".join([head, *rows, ""])


def _format_workflow(workflow: PlannedWorkflow, style: Style) -> str:
    if workflow.change == "none":
        return ""
    sign = _SIGNS[workflow.change]
    head = f"{sign} workflow {style.strong(workflow.name)} of {workflow.service}"
    changes = workflow.fields if workflow.change == "update" else {}
    lines = (f"    {name}: {_change(name, *pair, style)}" for name, pair in changes.items())
    return "\n".join([head, *lines, ""])


def _format_api(api: PlannedApi, style: Style) -> str:
    head = f"~ API of {style.strong(api.service)}"
    lines = (f"    {name}: {_change_api(*pair, style)}" for name, pair in api.fields.items())
    return "\n".join([head, *lines, ""])


def _change_api(old: Json, new: Json, style: Style) -> str:
    """Format a change of a setting, or the entries of a list that were added and removed."""
    lists = [one for one in (old, new) if isinstance(one, list | tuple)]
    if lists and all(isinstance(one, str) for row in lists for one in row):
        return _compare_permissions(old, new)
    return _change("", old, new, style)


def _format_function(function: PlannedFunction, style: Style) -> Iterator[str]:
    sign = _SIGNS[function.change]
    paint = {"+": style.good, "~": style.warn, "-": style.bad}[sign]
    triggers = ", ".join(format_trigger(one) for one in function.triggers) or "no trigger"
    layers = f"  layers {', '.join(function.layers)}" if function.layers else ""
    yield f"  {paint(sign)} {function.name}  {style.dim(triggers + layers)}"
    fields = function.fields
    for name in fields if function.change == "update" else fields.keys() & _URL_ACCESS:
        yield f"      {_format_field(name, *fields[name], style)}"


def _format_field(name: str, old: Json, new: Json, style: Style) -> str:
    secret = find_secret_source(name)
    if secret and old and new:
        return f"new secret version {new} of {secret} (was {old})"
    if secret and new:
        return f"version {new} of secret {secret} not recorded yet"
    return f"{name}: {_change(name, old, new, style)}"


def _change(name: str, old: Json, new: Json, style: Style) -> str:
    """Format a change. Hashes are omitted, except for code, where they distinguish archives."""
    if name == "permissions":
        return _compare_permissions(old, new)
    if name != "code" and _is_digest(old) and _is_digest(new):
        return "changed"
    if name in _URL_ACCESS:
        old, new = ("public" if one in _PUBLIC else one for one in (old, new))
    if name in _OWN_WITHOUT:
        old, new = (_OWN if one == _UNSET else one for one in (old, new))
    before, after = _format_value(old), _format_value(new)
    if before != after:
        return f"{before} {style.dim('->')} {after}"
    # Triggers are shortened, so that two can look the same.
    if isinstance(old, list | tuple) and isinstance(new, list | tuple):
        return _compare_triggers(old, new, style) or "changed"
    return "changed"


def _compare_triggers(old: Sequence[Json], new: Sequence[Json], style: Style) -> str:
    """Format the changed options of triggers."""
    rows = (
        f"{format_trigger(is_now)}: {key} {_format_option(was.get(key))} {style.dim('->')} "
        f"{_format_option(is_now.get(key))}"
        for was, is_now in zip(old, new, strict=False)
        if isinstance(was, dict) and isinstance(is_now, dict)
        for key in dict.fromkeys((*was, *is_now))
        if was.get(key) != is_now.get(key)
    )
    return "; ".join(rows)


def _format_option(value: Json) -> str:
    """Format the value of an option: a text unchanged, others as JSON."""
    if value is None:
        return "(none)"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _compare_permissions(old: Json, new: Json) -> str:
    """Format the entries that were added and removed."""
    before, after = (
        [_format_permission(one) for one in side] if isinstance(side, list | tuple) else []
        for side in (old, new)
    )
    signs = (
        *(f"+ {one}{_mark_wildcard(one)}" for one in after if one not in before),
        *(f"- {one}" for one in before if one not in after),
    )
    return "; ".join(signs) or "another order"


def _mark_wildcard(permission: str) -> str:
    """Mark a statement that allows all actions of a service, or all resources."""
    said = permission.partition(" if ")[0]
    is_open = said.startswith("Allow ") and (_WILDCARD.search(said) or _EXCEPT in said)
    return " (wildcard)" if is_open else ""


def _format_permission(entry: Json) -> str:
    """Format a statement, or the name of a policy with its parameters."""
    if not isinstance(entry, dict):
        return str(entry)
    said = {key[:1].lower() + key[1:]: value for key, value in entry.items()}
    actions = _format_choice(said, "action")
    if not actions:
        [(name, parameters)] = entry.items()
        values = parameters.values() if isinstance(parameters, dict) else ()
        return " ".join((name, *map(str, values)))
    condition, name = _format_condition(said.get("condition")), said.get("sid")
    return (
        f"{said.get('effect', 'Allow')} {actions} on {_format_choice(said, 'resource')}"
        + (f", named {name}" if name else "")
        + (f" if {condition}" if condition else "")
    )


def _format_choice(statement: JsonObject, name: str) -> str:
    """Format the actions or resources of a statement, included or excluded."""
    for key in (name, f"{name}s"):
        if key in statement:
            return _join_words(statement[key])
        excluded = f"not{key.capitalize()}"
        if excluded in statement:
            return f"{_EXCEPT}{_join_words(statement[excluded])}"
    return ""


def _format_condition(condition: Json) -> str:
    if not isinstance(condition, dict):
        return str(condition or "")
    rows = (
        f"{operator} {key} {_join_words(value)}"
        for operator, tests in condition.items()
        for key, value in (tests.items() if isinstance(tests, dict) else [("", tests)])
    )
    return " and ".join(rows)


def _join_words(value: Json) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _is_digest(value: Json) -> bool:
    return isinstance(value, str) and _SHORT_DIGEST.fullmatch(value) is not None


def _format_value(value: Json) -> str:
    if value is None:
        return "(none)"
    if isinstance(value, dict):
        return ", ".join(f"{name} {one}" for name, one in value.items())
    if isinstance(value, list | tuple):
        words = (format_trigger(one) if isinstance(one, dict) else str(one) for one in value)
        return ", ".join(words) or "(none)"
    return str(value)


def format_trigger(trigger: JsonObject) -> str:
    kind = str(trigger["type"])
    if kind == "http":
        path = str(trigger["path"])
        return path if path == DEFAULT_ROUTE else f"{trigger['method']} {path}"
    subject = next(
        (trigger[key] for key in ("schedule", "queue", "bucket", "topic") if key in trigger), ""
    )
    return f"{kind} {subject}".strip()


def _format_tasks(tasks: Sequence[PlannedTask], style: Style) -> list[str]:
    shown = tasks[:_SHOWN]
    width = max((len(task.id) for task in shown), default=0)
    word = max((len(_ACTIONS[task.action]) for task in shown), default=0)
    lines = [
        f"  {_format_action(task.action, word, style)}  {task.id:<{width}}  "
        f"{style.dim(task.reason)}"
        for task in shown
    ]
    if len(tasks) > _SHOWN:
        lines.append(f"  … and {len(tasks) - _SHOWN} more (--json lists them all)")
    return [*lines, ""] if lines else []


def _format_action(action: str, width: int, style: Style) -> str:
    paint = style.note if action == "run" else style.dim
    return paint(f"{_ACTIONS[action]:<{width}}")


def explain_text(told: ExplainOutcome, style: Style) -> str:
    """Format why a task would run, with every changed input."""
    # The reason of a skipped task is that it is up to date, so its action adds nothing.
    action = f"{_ACTIONS[told.action].strip()}, " if told.action in _ACTIONS else ""
    head = f"{style.strong(told.task)}: {action}{told.reason}"
    lines = [_change_line(change, style) for change in told.changed]
    for cause in _join_causes(told.causes):
        lines.append(f"  {style.strong(cause.task)}: {cause.reason}")
        lines += [f"  {_change_line(change, style)}" for change in cause.changed]
    if lines:
        return "\n".join([head, *lines])
    return f"{head} ({format_count(told.inputs, 'input')} checked)"


def _join_causes(causes: Sequence[Cause]) -> list[Cause]:
    """Replace the wheels among the causes with one line, as in a plan."""
    wheels = [one for one in causes if is_kind(one.task, "wheel") and not one.changed]
    if not wheels[1:]:
        return list(causes)
    reasons = ", ".join(dict.fromkeys(one.reason for one in wheels))
    first = Cause(format_count(len(wheels), "wheel"), reasons, ())
    return [first, *(one for one in causes if one not in wheels)]


def _change_line(change: ChangedInput, style: Style) -> str:
    old, new = _shorten_value(change.old), _shorten_value(change.new)
    kind = _KINDS.get(change.kind, change.kind)
    return f"  {kind} {change.name}  {style.bad(old)} -> {style.good(new)}"


def _shorten_value(value: str) -> str:
    if not value:
        return "absent"
    # A digest can follow the version of a package.
    front, _, digest = value.rpartition(" ")
    is_digest = len(digest) == _DIGEST_LENGTH and digest.isalnum()
    return f"{front} {digest[:12]}".lstrip() if is_digest else value
