"""Environment values of functions, from their configs and the outputs of upstreams."""

import json
import posixpath
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from fabric.app.project.plan_rows import encode_trigger
from fabric.app.records.deploy_work import DeployWork
from fabric.app.records.known_records import UpstreamAddresses, with_values
from fabric.app.records.pinned_values import PinnedValues
from fabric.app.records.placed_deployers import PlacedDeployers
from fabric.config.rules.env_size import find_excess_problem
from fabric.config.values import Config, Function, Trigger
from fabric.graph.deploy_settings import build_spec
from fabric.graph.late_outputs import (
    list_late_names,
    list_late_texts,
    list_own_api,
    list_trigger_texts,
    require_outputs,
)
from fabric.graph.stacks import describe_policy, find_stack, hash_parameters
from fabric.graph.workflows import describe_machine, fill_definition, find_machine
from fabric.model.late_values import (
    OWN_ADDRESSES,
    fill_document,
    fill_placeholders,
    find_late_names,
)
from fabric.model.lookups import parse_pin
from fabric.model.problems import FabricError, Problem
from fabric.model.records.record import Mode, RecordRef
from fabric.model.secrets.secrecy import is_secret_name, redact_values
from fabric.model.secrets.secret import Secret
from fabric.model.task import Pairs
from fabric.providers.core.contract import FunctionDraft, WorkflowDraft
from fabric.providers.core.errors import attach_error_spot
from fabric.tasks.deploy_tools import ShownTexts, StackValues, Values, WorkflowValues

_TOO_LARGE = "deploy/environment-too-large"


class ConfigValues:
    def __init__(
        self,
        work: DeployWork,
        upstreams: UpstreamAddresses,
        deployers: PlacedDeployers,
        pinned: PinnedValues,
    ) -> None:
        self._work = work
        self._upstreams = upstreams
        self._deployers = deployers
        self._pinned = pinned

    def values(self, ref: RecordRef, function: str) -> Values:
        unit = self._work.units.get(ref)
        config = unit.config if unit else None
        found = _find_function(config, function)
        if unit is None or config is None or found is None:
            return Values()
        hidden = config.document.secret_values.reveal()
        texts = (*(text for _, text in found.env), *list_late_texts(found))
        with attach_error_spot(function):
            pinned = self._pinned.read(ref, texts).reveal()
        known = {**self._upstreams.all(ref), **self._locate_own(ref, found)}
        plain = replace(found, env=with_values(found.env, pinned))
        env = require_outputs(with_values(plain.env, known))
        crowded = find_excess_problem(function, env, config.provider.id)
        if crowded:
            raise FabricError(replace(crowded, code=_TOO_LARGE))
        return Values(
            triggers=_encode_triggers(found.triggers, frozenset(), {**known, **pinned}),
            layers=tuple(fill_placeholders(one, known) for one in found.layers),
            env=Secret(env),
            declared=Secret(found.env),
            declared_plain=Secret(plain.env),
            spec=build_spec(unit, found),
            plain_spec=build_spec(unit, plain) if pinned else None,
            tags=with_values(found.tags, {**known, **pinned}),
            capacity=found.capacity,
            secret=config.document.secret_names & {name for name, _ in env},
            shown=ShownTexts(
                triggers=_encode_triggers(found.triggers, hidden, known),
                layers=tuple(
                    fill_placeholders(redact_values(layer, hidden), known) for layer in found.layers
                ),
            ),
            late=_list_late_values(found, {**known, **pinned}),
            read_secrets=Secret(frozenset(pinned.values())),
        )

    def _locate_own(self, ref: RecordRef, function: Function) -> Mapping[str, str]:
        """Return the addresses of functions that a function uses."""
        names = (one for one in list_late_names(function) if one.startswith(OWN_ADDRESSES))
        return self._deployers.locate_own(ref, tuple(names))

    def read_environment(self, ref: RecordRef, function: str) -> Secret[Pairs] | None:
        """Return the function's environment from the config, with open upstream placeholders.

        Returns None if the config does not contain the function.
        """
        found = _find_function(self._work.config(ref), function)
        return None if found is None else Secret(found.env)

    def stack(self, ref: RecordRef, phase: str) -> StackValues | None:
        """Return a stack of the config, with known values of its parameters."""
        config = self._work.config(ref)
        stack = find_stack(config, phase) if config else None
        if config is None or stack is None:
            return None
        late = {name for _, value in stack.parameters for name in find_late_names(value)}
        names = tuple(one for one in sorted(late) if one.startswith(OWN_ADDRESSES))
        texts = (value for _, value in stack.parameters)
        folder, path = posixpath.dirname(config.document.file), stack.template.path
        known = {
            **self._pinned.read(ref, texts).reveal(),
            **self._upstreams.list_own_outputs(ref),
            **self._deployers.locate_own(ref, names),
            **(list_own_api(record) if (record := self._upstreams.find_record(ref)) else {}),
        }
        return StackValues(
            stack=stack,
            parameters=Secret(with_values(stack.parameters, known)),
            declared=hash_parameters(stack),
            policy=describe_policy(config, stack),
            secret=_list_secret_names(stack.parameters, config),
            file=posixpath.join(folder, path) if path else config.document.file,
        )

    def workflow(self, ref: RecordRef, name: str) -> WorkflowValues | None:
        """Return a state machine of the config, with known outputs of the stack."""
        config = self._work.config(ref)
        machine = find_machine(config, name) if config else None
        if config is None or machine is None:
            return None
        known = self._upstreams.list_own_outputs(ref)
        definition = fill_definition(machine, known)
        used = (machine.permissions, *list_trigger_texts(machine.triggers))
        late = {one for text in used for one in find_late_names(text)}
        names = tuple(one for one in sorted(late) if one.startswith(OWN_ADDRESSES))
        known |= self._deployers.locate_own(ref, names)
        permissions, *_ = filled = tuple(fill_placeholders(text, known) for text in used)
        role = fill_placeholders(machine.role, known)
        require_outputs(tuple(("", text) for text in (definition, role, *filled)))
        return WorkflowValues(
            machine=machine,
            settings=describe_machine(machine),
            definition=definition,
            permissions=permissions,
            role=role,
            triggers=_encode_triggers(machine.triggers, frozenset(), known),
        )

    def workflow_drafts(self, ref: RecordRef) -> tuple[WorkflowDraft, ...]:
        config = self._work.config(ref)
        return tuple(
            WorkflowDraft(
                one.name, describe_machine(one), _encode_triggers(one.triggers, frozenset(), {})
            )
            for one in (config.supplies.machines if config else ())
        )

    def drafts(self, ref: RecordRef) -> tuple[FunctionDraft, ...]:
        """List all functions of a service, as far as they are known before the build."""
        config = self._work.config(ref)
        unit = self._work.units.get(ref)
        if config is None or unit is None:
            return ()
        hidden = config.document.secret_values.reveal()
        own = {layer.name for layer in config.supplies.layers}
        return tuple(
            FunctionDraft(
                name=one.name,
                settings=build_spec(unit, one)[1],
                triggers=_encode_triggers(one.triggers, hidden, {}),
                layers=tuple(name for name in one.layers if name not in own),
                own_layers=tuple(name for name in one.layers if name in own),
                variables=tuple(name for name, _ in one.env),
                provisioned_concurrency=one.capacity.provisioned_concurrency,
                tags=one.tags,
                known=_list_known_values(config, one),
            )
            for one in config.functions
        )

    def late_names(self, ref: RecordRef) -> tuple[str, ...]:
        """List the variables that upstreams provide, deployed or not."""
        unit = self._work.units.get(ref)
        own = tuple(self._upstreams.list_own_outputs(ref))
        if unit is None:
            return own
        names = (
            *(f"function:{one.name}" for one in unit.config.functions),
            *(f"workflow:{one.name}" for one in unit.config.supplies.machines),
        )
        addresses = (f"{name}.{key}" for name in names for key in ("arn", "name"))
        return (*(name for name, _ in unit.needs.outputs), *own, *addresses)

    def secrets(self, ref: RecordRef, texts: Sequence[str]) -> Secret[dict[str, str]]:
        return self._pinned.read(ref, texts)

    def addresses(self, ref: RecordRef) -> Mapping[str, str]:
        return {**self._upstreams.all(ref), **self._locate_used_functions(ref)}

    def _locate_used_functions(self, ref: RecordRef) -> Mapping[str, str]:
        config = self._work.config(ref)
        late = (one for each in config.functions for one in list_late_names(each)) if config else ()
        names = sorted({one for one in late if one.startswith(OWN_ADDRESSES)})
        return self._deployers.locate_own(ref, tuple(names))

    def find_upstream_addresses(self, ref: RecordRef) -> Mapping[str, str]:
        """Map the variables of deployed upstreams to their addresses. Addresses of functions are
        known without a call only in simulated runs."""
        is_simulated = self._work.placements[ref].mode == Mode.SIMULATED
        located = self._locate_used_functions(ref) if is_simulated else {}
        return {**self._upstreams.find_known(ref), **located}

    def too_large_now(self, ref: RecordRef) -> Iterator[Problem]:
        """Find functions whose environment is too large with the current upstream addresses."""
        config = self._work.config(ref)
        known = self._upstreams.find_known(ref)
        for one in config.functions if config else ():
            env = with_values(one.env, known)
            crowded = find_excess_problem(
                f"{ref.service}/{one.name}", env, self._find_provider_id(ref)
            )
            if crowded:
                yield replace(crowded, code=_TOO_LARGE)

    def _find_provider_id(self, ref: RecordRef) -> str:
        return self._work.placements[ref].provider_id


def _list_secret_names(pairs: Pairs, config: Config) -> frozenset[str]:
    """List the names of values that are secrets, by their content or their name."""
    hidden = [one for one in config.document.secret_values.reveal() if one]
    return frozenset(
        name for name, value in pairs if is_secret_name(name) or any(one in value for one in hidden)
    )


def _find_function(config: Config | None, name: str) -> Function | None:
    functions = config.functions if config else ()
    return next((one for one in functions if one.name == name), None)


def _list_known_values(config: Config, function: Function) -> Secret[Pairs]:
    """List values without secrets and upstream outputs, which a plan does not always read."""
    pairs = (pair for pair in function.env if pair[0] not in config.document.secret_names)
    return Secret(tuple(pair for pair in pairs if not find_late_names(pair[1])))


def _encode_triggers(
    triggers: Iterable[Trigger], hidden: frozenset[str], known: Mapping[str, str]
) -> tuple[str, ...]:
    rows = (fill_document(encode_trigger(one, hidden), known) for one in triggers)
    return tuple(json.dumps(row, sort_keys=True) for row in rows)


def _list_late_values(function: Function, known: Mapping[str, str]) -> Pairs:
    """List the late values of triggers, layers, tags and settings. Raises if one does not exist."""
    texts = tuple(("", text) for text in list_late_texts(function))
    require_outputs(with_values(texts, known))
    names = sorted({name for _, text in texts for name in find_late_names(text)})
    return tuple((name, known[name]) for name in names if parse_pin(name) is None)
