"""Decide tasks that change deployed resources: compare the record with the desired state.

Cached results say nothing about a provider; only the current record counts.
"""

import hmac
from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from fabric.graph.decide import (
    UP_TO_DATE,
    Action,
    Change,
    Decision,
    compare_pairs,
    format_reason,
    wait_for,
)
from fabric.graph.plan import Known
from fabric.graph.traces import compute_full_key, compute_static_hash
from fabric.model.calls.concurrency import format_settings
from fabric.model.hashing import hash_fields
from fabric.model.late_values import fill_bindings
from fabric.model.names import Digest
from fabric.model.records.record import (
    Deployment,
    FunctionRecord,
    Lifecycle,
    Mode,
    Operation,
    Record,
)
from fabric.model.secrets.secret_pins import (
    find_secret_source,
    has_secret_versions,
    shorten_version,
)
from fabric.model.task import EntryKind, InputEntry, Output, Pairs
from fabric.model.task_id import image_id, is_kind, name_of, package_id, parse_task_kind
from fabric.model.task_inputs import DeployInputs, ReleaseInputs, RemoveInputs, RestoreInputs, Spec

GONE = Output(hash_fields(("gone",)))


class DesiredFunction(Struct, frozen=True):
    """One desired function: its future record."""

    name: str
    key: Digest
    settings: Pairs
    env: Pairs
    upstream: Pairs

    def environment(self, salt: str) -> Pairs:
        return hash_environment(self.env, salt)


def hash_environment(env: Pairs, salt: str) -> Pairs:
    """Hash environment values with a salt, so that they compare only within one lineage and reveal
    nothing."""
    return tuple(
        (name, hmac.new(salt.encode(), value.encode(), "sha256").hexdigest()) for name, value in env
    )


def hash_declared_values(env: Pairs, salt: str) -> Pairs:
    """Hash declared values, which a graph contains only as hashes."""
    return hash_environment(tuple((name, hash_fields((value,))) for name, value in env), salt)


def build_wanted(
    inputs: DeployInputs, spec: Spec, code: tuple[InputEntry, ...], upstream: Pairs
) -> DesiredFunction:
    """Build the desired function. Its own archive and outputs of other services count, and not a
    deploy of its service that comes first."""
    name, settings, env = spec
    own = (package_id(inputs.service, name), image_id(inputs.service, name))
    is_stack_used = any(setting == "stack" for setting, _ in settings)
    seen = tuple(
        pair
        for pair in upstream
        if pair[0] in own
        or not (
            _is_archive(pair[0])
            or is_kind(pair[0], "deploy")
            or (_is_own_stack(pair[0], inputs) and not is_stack_used)
        )
    )
    entries = (*code, *inputs.entries_of(spec))
    plain = tuple((one.name, one.value) for one in entries if one.kind != EntryKind.ENV)
    key = compute_full_key(compute_static_hash(inputs.kind, entries), (), seen)
    return DesiredFunction(name, key, format_settings(plain), env, seen)


def _is_own_stack(task: str, inputs: DeployInputs) -> bool:
    return is_kind(task, "stack") and name_of(task).service == inputs.service


def _is_archive(task: str) -> bool:
    return is_kind(task, "package") or is_kind(task, "image")


def list_wanted(
    inputs: DeployInputs, code: tuple[InputEntry, ...], upstream: Pairs
) -> list[DesiredFunction]:
    return [build_wanted(inputs, spec, code, upstream) for spec in inputs.functions]


def compare_with_live(one: DesiredFunction, was: FunctionRecord, salt: str) -> tuple[Change, ...]:
    """Compare a function with its deployed state. After a half-failed first deploy that is
    unknown."""
    if not was.settings:
        return ()
    late = dict(was.late)
    settings = tuple((name, fill_bindings(text, late)) for name, text in one.settings)
    return (
        *map(_shorten, compare_pairs(EntryKind.OPTION, format_settings(was.settings), settings)),
        *compare_pairs(EntryKind.ENV, was.environment, one.environment(salt)),
        *compare_pairs(EntryKind.UPSTREAM, was.upstream, one.upstream),
    )


def _shorten(change: Change) -> Change:
    """Shorten the version of a secret, which identifies it anyway."""
    if not find_secret_source(change.name):
        return change
    return replace(change, old=shorten_version(change.old), new=shorten_version(change.new))


def judge_deploy(known: Known, inputs: DeployInputs, record: Record | None) -> Decision:
    count = len(known.code) + len(known.task.inputs.entries()) + len(known.task.needs)
    if known.upstream is None:
        return wait_for(known.unknown, count)
    asked = list_wanted(inputs, known.code, known.upstream)
    key = asked[0].key if inputs.function else hash_fields(one.key for one in asked)
    if record is None or all(record.function(one.name) is None for one in asked):
        return Decision(Action.RUN, "first deploy", key, count)
    if record.mode is not Mode.SIMULATED and _has_pending_intent(record, known.task.id):
        return Decision(Action.RUN, "result of the last deploy unknown", key, count)
    stale = find_stale_functions(record, asked)
    dropped = find_dropped_functions(record, inputs)
    if not stale and not dropped:
        known_output = build_live_output(record, (one.name for one in asked))
        return Decision(Action.SKIP, UP_TO_DATE, key, count, known=known_output)
    changes = _list_stale_changes(record, stale, inside=not inputs.function)
    reason = (
        format_reason(changes, count) if changes else _format_stale_reason(record, stale, dropped)
    )
    return Decision(Action.RUN, reason, key, count, changes)


def find_stale_functions(record: Record, asked: Iterable[DesiredFunction]) -> list[DesiredFunction]:
    """Find the functions that are not deployed as desired."""
    found = ((one, record.function(one.name)) for one in asked)
    return [one for one, was in found if was is None or not _is_deployed(one, was, record.salt)]


def _is_deployed(one: DesiredFunction, was: FunctionRecord, salt: str) -> bool:
    """Return whether a function is deployed under the desired key. Functions whose secrets got
    versions later keep the key of their deploy, so their parts are compared."""
    if was.key == one.key or not was.key or not has_secret_versions(was.settings):
        return was.key == one.key
    return not compare_with_live(one, was, salt)


def find_dropped_functions(record: Record, inputs: DeployInputs) -> tuple[str, ...]:
    """Find deployed functions that a deploy of the whole service would delete."""
    if inputs.function:
        return ()
    named = {name for name, _, _ in inputs.functions} | set(inputs.others)
    return tuple(one.name for one in record.functions if one.name not in named)


def _has_pending_intent(record: Record, task_id: str) -> bool:
    return any(intent.task == task_id for intent in record.pending)


def _list_stale_changes(
    record: Record, stale: list[DesiredFunction], *, inside: bool
) -> tuple[Change, ...]:
    changes: list[Change] = []
    for one in stale:
        was = record.function(one.name)
        found = compare_with_live(one, was, record.salt) if was else ()
        prefix = f"{one.name}." if inside else ""
        changes += (Change(c.kind, prefix + c.name, c.old, c.new) for c in found)
    return tuple(changes)


def _format_stale_reason(
    record: Record, stale: list[DesiredFunction], dropped: tuple[str, ...]
) -> str:
    if stale:
        is_going = any(one.operation is Operation.REMOVE for one in record.pending)
        what = "removal" if is_going else "deploy"
        return f"result of the last {what} of {stale[0].name} unknown"
    return f"{dropped[0]} removed from the config"


def build_live_output(record: Record, names: Iterable[str]) -> Output:
    """Build the output of a deploy for dependents. It is equal for new and old deploys."""
    found = (record.function(name) for name in sorted(names))
    return Output(hash_fields(part for one in found if one for part in _list_live_facts(one)))


def _list_live_facts(one: FunctionRecord) -> tuple[str, ...]:
    return one.name, one.key, one.artifact_sha256, one.resource_id, one.endpoint


def judge_release(known: Known, inputs: ReleaseInputs, record: Record | None) -> Decision:
    count = len(known.code) + len(inputs.entries()) + len(known.task.needs)
    if known.upstream is None:
        return wait_for(known.unknown, count)
    key = release_key(known, inputs, record)
    if record is None or (not record.release_key and not record.history):
        return Decision(Action.RUN, "first release", key, count)
    if record.lifecycle is not Lifecycle.DEPLOYED:
        return Decision(Action.RUN, f"last deployment ended as {record.lifecycle}", key, count)
    if record.release_key == key and not _has_pending_intent(record, known.task.id):
        return Decision(Action.SKIP, UP_TO_DATE, key, count, known=release_output(record))
    return Decision(Action.RUN, "functions or settings changed", key, count)


def release_key(known: Known, inputs: ReleaseInputs, record: Record | None) -> Digest:
    """Compute the release key over all configured and deployed functions, also those outside this
    run."""
    kinds = ("release", "stack")
    upstream = tuple(pair for pair in known.upstream or () if parse_task_kind(pair[0]) in kinds)
    live = build_live_output(record, inputs.functions).digest if record else ""
    static = compute_static_hash(inputs.kind, (*known.code, *inputs.entries()))
    found = (one for one in (record.workflows if record else ()) if one.name in inputs.workflows)
    facts = tuple(fact for one in found for fact in one.facts)
    workflows = (("workflows", hash_fields(facts)),) if facts else ()
    return compute_full_key(static, (("functions", live), *workflows), upstream)


def release_output(record: Record) -> Output:
    """Build the release output from endpoint and outputs. Ids and times are not hashed."""
    facts = (("endpoint", record.endpoint), *record.outputs)
    return Output(hash_fields(part for pair in facts for part in pair), facts=facts)


def judge_remove(known: Known, inputs: RemoveInputs, record: Record | None) -> Decision:
    there = record is not None and (not inputs.function or record.function(inputs.function))
    if not there:
        return Decision(Action.SKIP, "not there", inputs=1, known=GONE)
    if known.upstream is None:
        return wait_for(known.unknown, 1)
    after_release = any(is_kind(need, "release") for need in known.task.needs)
    reason = "removed from the config" if after_release else "to be removed"
    return Decision(Action.RUN, reason, hash_fields((known.task.id,)), 1)


def judge_restore(
    known: Known, inputs: RestoreInputs, record: Record | None, target: Deployment
) -> Decision:
    """Decide a restore: every difference is restored, and the service-wide release always runs."""
    if known.upstream is None:
        return wait_for(known.unknown, 1)
    then = {one.name: one for one in target.functions}
    if inputs.function and record and record.function(inputs.function) == then[inputs.function]:
        return Decision(Action.SKIP, "unchanged", inputs=1, known=GONE)
    reason = f"restored from {inputs.deployment}"
    return Decision(Action.RUN, reason, hash_fields((known.task.id,)), 1)
