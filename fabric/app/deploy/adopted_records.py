"""Records of adopted functions: the desired state, with everything that differs at the provider."""

import json
from collections.abc import Iterator, Mapping

from msgspec import Struct

from fabric.app.deploy.preview import OpenWork
from fabric.app.preview import Preview
from fabric.graph.judge import DesiredFunction, hash_environment, list_wanted
from fabric.model.hashing import hash_fields
from fabric.model.late_values import (
    change_texts,
    fill_placeholders,
    show_placeholders,
)
from fabric.model.records.record import FunctionRecord, Record, RecordRef, ValueOwner
from fabric.model.secrets.secret import Secret
from fabric.model.secrets.secret_pins import has_unread_values
from fabric.model.task import Output, Pairs, Task
from fabric.model.task_id import TaskId, package_of
from fabric.model.task_inputs import DeployInputs, uses_output
from fabric.providers.core.contract import AdoptableFunction
from fabric.system.crypto.value_seal import ValueSeal
from fabric.tasks.deploy import DeployKind, list_output_hashes, merge_pairs
from fabric.tasks.deploy_tools import get_record_ref


class WantedFunction(Struct, frozen=True, kw_only=True):
    """A function of the config, as the next deploy compares it."""

    desired: DesiredFunction
    # The values of the config. Late ones are placeholders.
    environment: Pairs
    triggers: tuple[str, ...]
    # The values of secrets at AWS, by the names of their placeholders.
    secrets: Secret[dict[str, str]] = Secret({})
    # The package, if it is built.
    package: Output | None = None
    # Whether all inputs of its key are known.
    is_complete: bool = False


def list_wanted_functions(
    opened: OpenWork, seen: Preview, ref: RecordRef
) -> Mapping[str, WantedFunction]:
    """List the functions of the config. Packages that are not built yet are not known."""
    pairs = zip(seen.plan.graph.tasks, seen.plan.decisions, strict=True)
    outputs = {task.id: decision.output for task, decision in pairs if decision.output}
    found = (
        one
        for task in seen.plan.graph.tasks
        if isinstance(task.inputs, DeployInputs) and get_record_ref(task.inputs) == ref
        for one in _list_wanted(opened, task, task.inputs, outputs)
    )
    return {one.desired.name: one for one in found}


def _list_wanted(
    opened: OpenWork, task: Task, inputs: DeployInputs, outputs: Mapping[TaskId, Output]
) -> Iterator[WantedFunction]:
    tools, scope = opened.scope.tools, opened.scope
    used = [need for need in task.needs if uses_output(need, inputs)]
    known = {need: outputs[need] for need in used if need in outputs}
    outside = tools.records.as_found(inputs.stage, inputs.outside)
    upstream = merge_pairs(list_output_hashes(known), outside)
    ref = get_record_ref(inputs)
    drafts = {one.name: one for one in scope.values.drafts(ref)}
    for desired in list_wanted(inputs, DeployKind(tools).code(task), upstream):
        values = scope.values.read_environment(ref, desired.name)
        environment = values.reveal() if values else ()
        yield WantedFunction(
            desired=desired,
            environment=environment,
            secrets=scope.values.secrets(ref, tuple(text for _, text in environment)),
            triggers=drafts[desired.name].triggers,
            package=known.get(package_of(known, ref.service, desired.name)),
            is_complete=len(known) == len(used),
        )


def build_adopted_record(
    wanted: WantedFunction, found: AdoptableFunction, record: Record, seal: ValueSeal, now: str
) -> FunctionRecord:
    """Build the record of a function. Equal functions get the key of the config, so that the next
    deploy skips them."""
    live, desired, salt = found.live, wanted.desired, record.salt
    differing = dict(found.differing)
    has_same_code = _has_same_code(wanted, found)
    if wanted.package is not None and found.handler != wanted.package.fact("handler"):
        differing["entry"] = found.handler
    declared = _list_declared_values(wanted, found)
    environment = hash_environment(_hash_values(declared), salt)
    is_equal = (
        *(wanted.is_complete, has_same_code, not differing),
        environment == desired.environment(salt),
    )
    settings = tuple(
        (name, differing.pop(name, show_placeholders(text))) for name, text in desired.settings
    )
    environment_sha256 = hash_fields(part for pair in environment for part in pair)
    owner = ValueOwner(record.ref, live.name, salt, environment_sha256)
    own_packages = () if has_same_code else ("package", "image")
    return FunctionRecord(
        name=live.name,
        key=desired.key if all(is_equal) else hash_fields(("adopted", live.resource_id)),
        artifact_sha256=live.artifact_sha256,
        resource_name=live.resource_name,
        resource_id=live.resource_id,
        handler=found.handler,
        triggers=tuple(map(_show_trigger, wanted.triggers)),
        settings=(*settings, *differing.items()),
        environment=environment,
        environment_sha256=environment_sha256,
        sealed_values=seal.seal(owner, declared),
        upstream=tuple(
            pair for pair in desired.upstream if pair[0].partition(":")[0] not in own_packages
        ),
        updated_at=now,
        image=live.image,
    )


def _show_trigger(text: str) -> str:
    """Write late values as the config does. Records contain no placeholders."""
    return json.dumps(change_texts(json.loads(text), show_placeholders), sort_keys=True)


def _has_same_code(wanted: WantedFunction, found: AdoptableFunction) -> bool:
    package = wanted.package
    return package is not None and package.fact("sha256") == found.live.artifact_sha256


def _list_declared_values(wanted: WantedFunction, found: AdoptableFunction) -> Pairs:
    """List the values of the function, as the config writes equal ones. A late value of the config
    cannot be compared."""
    config, secrets = dict(wanted.environment), wanted.secrets.reveal()
    rows = ((name, value, config.get(name, "")) for name, value in found.environment.reveal())
    return tuple(
        (name, text)
        if has_unread_values(text) or fill_placeholders(text, secrets) == value
        else (name, value)
        for name, value, text in rows
    )


def _hash_values(declared: Pairs) -> Pairs:
    return tuple((name, hash_fields((value,))) for name, value in sorted(declared))
