"""Find settings that a deployer does not support, and partial deploys that would break the rest."""

import contextlib
import json
import re
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from msgspec.structs import replace

from fabric.app.project.compiled import Compiled
from fabric.app.project.compose_files import NOT_OURS
from fabric.app.records.known_records import (
    not_deployed_problem,
    parse_release_ref,
)
from fabric.app.records.placed_deployers import find_health_misfits
from fabric.app.records.scope import DeployScope
from fabric.config.rules.deployable import has_provider_settings
from fabric.config.rules.path_places import FunctionPath, with_places
from fabric.config.schema.extensions import list_extension_keys
from fabric.config.values import Config, Function, HttpTrigger
from fabric.graph.decide import Action
from fabric.graph.judge import find_dropped_functions
from fabric.graph.late_outputs import (
    OutputName,
    find_output_task,
    list_optional_tasks,
    list_service_outputs,
    missing_output_problem,
)
from fabric.graph.plan import Plan
from fabric.graph.service_unit import ServiceUnit
from fabric.graph.taskgraph import TaskGraph
from fabric.model.catalog import (
    DeployUnit,
    find_installed_facts,
    find_provider_facts,
    format_provider_title,
)
from fabric.model.names import DEFAULT_ROUTE
from fabric.model.other_tools import STAND_IN
from fabric.model.problems import FabricError, Place, Problem
from fabric.model.records.record import Mode, RecordRef
from fabric.model.secrets.secrecy import redact_values
from fabric.model.task_inputs import DeployInputs, ReleaseInputs
from fabric.model.text.spelling import suggest_spelling
from fabric.providers.core.contract import (
    Deployer,
    DeploymentAddress,
    LayerPublisher,
    SettingKeeper,
    Unsupported,
    WorkflowDeployer,
)
from fabric.providers.core.limits import function_problem
from fabric.system.files.disk import read_bytes
from fabric.tasks.deploy_tools import get_record_ref
from fabric.tasks.layer import no_publisher_problem
from fabric.tasks.stack import no_stacks_problem
from fabric.tasks.workflow import no_workflows_problem

_OF_UPSTREAMS = re.compile(r"SERVICE_\w+_URL|FABRIC_OUTPUT_\w+_ENDPOINT")
_CODE = "deploy/whole-service"
_NOBODY = "deploy/no-deployer"


def find_lost_addresses(work: Compiled, scope: DeployScope) -> Iterator[Problem]:
    """Find variables that functions would lose only because a compose file is ignored."""
    passed_over = next((one for one in work.info.warnings if one.code == NOT_OURS), None)
    if passed_over is None:
        return
    for inputs in work.graph.inputs_of("deploy"):
        names = (
            sorted(_list_lost_variables(inputs, scope)) if isinstance(inputs, DeployInputs) else []
        )
        if names:
            message = f"`{inputs.service}` would lose {', '.join(names)}: {passed_over.message}"
            yield replace(passed_over, message=message, service=inputs.service)


def _list_lost_variables(inputs: DeployInputs, scope: DeployScope) -> Iterator[str]:
    record = scope.record(get_record_ref(inputs))
    for name, _, env in inputs.functions:
        live = record.function(name) if record else None
        wanted = {variable for variable, _ in env}
        for variable, _ in live.environment if live else ():
            if variable not in wanted and _OF_UPSTREAMS.fullmatch(variable):
                yield variable


def find_partial_deploys(work: Compiled, scope: DeployScope) -> Iterator[Problem]:
    for inputs in work.graph.inputs_of("deploy"):
        if isinstance(inputs, DeployInputs) and inputs.mode == Mode.REAL:
            facts = find_provider_facts(dict(inputs.place)["provider-id"])
            if facts is not None and facts.traits.is_one_version and inputs.others:
                yield _partial_deploy_problem(inputs).of(inputs.service)
            elif facts is not None and facts.unit is DeployUnit.SERVICE and work.is_part:
                yield from (
                    one.of(inputs.service) for one in _find_dropped_functions(inputs, scope)
                )


def _partial_deploy_problem(inputs: DeployInputs) -> Problem:
    message = (
        f"cannot deploy only {_format_function_names(inputs)} of `{inputs.service}`: "
        f"{format_provider_title(inputs.provider)} deploys all functions of a service together"
    )
    hint = "omit --function: unchanged functions are not uploaded again"
    return Problem(_CODE, message, hint)


def _find_dropped_functions(inputs: DeployInputs, scope: DeployScope) -> Iterator[Problem]:
    """Find functions that this deploy would delete although only others were named."""
    record = scope.record(RecordRef(inputs.service, inputs.stage, inputs.provider))
    dropped = find_dropped_functions(record, inputs) if record else ()
    if dropped:
        names = ", ".join(f"`{name}`" for name in dropped)
        message = (
            f"refusing to deploy {_format_function_names(inputs)}: this would also delete "
            f"{names}, no longer in the config of `{inputs.service}`"
        )
        yield Problem(_CODE, message, "omit --function to deploy all configured functions")


def _format_function_names(inputs: DeployInputs) -> str:
    return ", ".join(f"`{one[0]}`" for one in inputs.functions)


def find_stand_ins(scope: DeployScope) -> Iterator[Problem]:
    """Find settings of real deploys with a value that an import wrote for a missing one."""
    for ref in sorted(scope.placements):
        config = scope.work.config(ref)
        is_simulated = scope.placements[ref].mode == Mode.SIMULATED
        if config is None or is_simulated or STAND_IN not in config.document.resolved:
            continue
        settings = json.loads(config.document.resolved)
        # They count where they are used: `--param` replaces them there.
        settings.pop("params", None)
        for path, value in _list_texts(settings):
            if STAND_IN in value:
                message = f"`{path}` contains `{value}`, which `fabric import` wrote"
                hint = "set the parameter in `params`, or pass it with --param"
                where = Place(config.document.file)
                yield Problem("config/stand-in", message, hint, where).of(ref.service)


def _list_texts(node: object, path: str = "") -> Iterator[tuple[str, str]]:
    """List the texts of a document, each with its path."""
    match node:
        case str():
            yield path, node
        case dict():
            for key, value in node.items():
                yield from _list_texts(value, f"{path}.{key}".lstrip("."))
        case list():
            for number, value in enumerate(node):
                yield from _list_texts(value, f"{path}.{number}")


def find_missing_upstreams(graph: TaskGraph, scope: DeployScope) -> Iterator[Problem]:
    """List dependencies that are not part of the run and not deployed, or without an output that
    is used."""
    seen = set()
    releases = [one for one in graph.inputs_of("release") if isinstance(one, ReleaseInputs)]
    for inputs in releases:
        # Without outside tasks no config is read.
        ref = RecordRef(inputs.service, inputs.stage, inputs.provider)
        unit = scope.work.units.get(ref) if inputs.outside else None
        optional = list_optional_tasks(unit) if unit else frozenset()
        for name in inputs.outside:
            if name in optional:
                continue
            upstream_service = parse_release_ref(name, inputs.stage)
            if (inputs.service, upstream_service) not in seen and scope.record(
                upstream_service
            ) is None:
                yield not_deployed_problem(inputs.service, upstream_service).of(inputs.service)
            seen.add((inputs.service, upstream_service))
        if inputs.outside:
            yield from _find_missing_outputs(inputs, unit, scope, inputs.outside)


def _find_missing_outputs(
    inputs: ReleaseInputs,
    unit: ServiceUnit | None,
    scope: DeployScope,
    tasks: Collection[str],
) -> Iterator[Problem]:
    """Find outputs that the results of these tasks do not have."""
    for name in list_service_outputs(unit.config) if unit else ():
        task = find_output_task(unit, name) if unit else None
        if task and task in tasks and OutputName(name).default is None:
            record = scope.record(parse_release_ref(task, inputs.stage))
            if record and OutputName(name).output not in record.named_outputs:
                yield missing_output_problem(name).of(inputs.service)


def find_lost_outputs(plan: Plan, scope: DeployScope) -> Iterator[Problem]:
    """Find used outputs that dependencies in this run do not have, and that do not change in it."""
    decided = dict(zip((one.id for one in plan.graph.tasks), plan.decisions, strict=True))
    same = {name for name, one in decided.items() if one.action is Action.SKIP}
    releases = [one for one in plan.graph.tasks if isinstance(one.inputs, ReleaseInputs)]
    # Without changes or other services no config is read.
    for task in releases if len(releases) > 1 else ():
        if task.id not in same and isinstance(task.inputs, ReleaseInputs):
            unit = scope.work.units.get(get_record_ref(task.inputs))
            yield from _find_missing_outputs(task.inputs, unit, scope, same)


def find_unsupported_functions(scope: DeployScope) -> Iterator[Problem]:
    """Find unsupported settings. A simulated deploy checks only that the provider has the keys of
    functions, and a command checks itself."""
    for ref in sorted(scope.placements):
        config = scope.work.config(ref)
        if config is not None:
            found = [*_find_mode_problems(scope, ref, config)]
            yield from _place_problems(scope, ref, config, found) if found else ()


def _find_mode_problems(
    scope: DeployScope, ref: RecordRef, config: Config
) -> Iterator[Unsupported]:
    mode = scope.placements[ref].mode
    if mode == Mode.COMMAND:
        yield from _find_unpublished_layers(config)
        yield from _find_unsupported_stacks(config)
        yield from _find_unsupported_workflows(config)
        return
    yield from _find_nothing_to_deploy(config)
    yield from _find_unsupported_settings(config)
    if mode == Mode.REAL:
        yield from _find_deployer_problems(scope, ref, config)


def find_simulated_limits(scope: DeployScope) -> Iterator[Problem]:
    """Find settings of simulated services that a real deploy would refuse. A simulated deploy
    succeeds."""
    for ref in sorted(scope.placements):
        config = scope.work.config(ref)
        is_simulated = scope.placements[ref].mode == Mode.SIMULATED
        if config is None or not is_simulated or not has_provider_settings(config):
            continue
        found: Sequence[Unsupported] = ()
        with contextlib.suppress(FabricError):  # a provider without a deployer has no limits
            deployers = scope.tools.deployers
            address = deployers.address(ref)
            found = _list_unsupported(scope, ref, deployers.open_limits(ref), address)
        # Unread references have a text in place of their value.
        unread = [one.text for one in config.document.bindings.references]
        found = [one for one in found if not any(text in one.problem.message for text in unread)]
        for problem in _place_problems(scope, ref, config, found) if found else ():
            message = f"a real deploy would fail: {problem.message}"
            yield replace(problem, code=_SIMULATED_LIMIT, message=message)


def find_kept_settings(scope: DeployScope) -> Iterator[Problem]:
    """Find changed settings that existing resources of real deploys do not follow."""
    for ref in sorted(scope.placements):
        record = scope.record(ref)
        if record is None or not record.mode == scope.placements[ref].mode == Mode.REAL:
            continue
        found: Problem | None = None
        with contextlib.suppress(FabricError):  # a provider without a deployer has its own check
            deployer = scope.tools.deployers.deployer(ref, Mode.REAL)
            address = replace(scope.tools.deployers.address(ref), previous=record)
            if isinstance(deployer, SettingKeeper):
                found = deployer.find_kept_setting(address)
        if found:
            yield found.of(ref.service)


_SIMULATED_LIMIT = "plan/provider-limit"


def _find_deployer_problems(
    scope: DeployScope, ref: RecordRef, config: Config
) -> Sequence[Unsupported]:
    deployers = scope.tools.deployers
    try:
        deployer = deployers.deployer(ref, Mode.REAL)
        address = replace(deployers.address(ref), previous=scope.record(ref))
        return [
            *_list_unsupported(scope, ref, deployer, address),
            *find_health_misfits(config, deployer),
            *_find_unknown_keys(config),
            *(() if isinstance(deployer, LayerPublisher) else _find_unpublished_layers(config)),
        ]
    except FabricError as error:
        # What is missing around a run may be there when it is deployed; a deployer never is.
        return [
            Unsupported("", one, keys=("provider",))
            for one in error.problems
            if one.code == _NOBODY
        ]


def _list_unsupported(
    scope: DeployScope, ref: RecordRef, deployer: Deployer, address: DeploymentAddress
) -> list[Unsupported]:
    """List the settings of functions and workflows that the deployer does not support."""
    found = [*deployer.unfit(address, scope.values.drafts(ref))]
    if isinstance(deployer, WorkflowDeployer):
        found += deployer.find_unfit_workflows(address, scope.values.workflow_drafts(ref))
    return found


def _place_problems(
    scope: DeployScope, ref: RecordRef, config: Config, found: Sequence[Unsupported]
) -> Sequence[Problem]:
    found = _redact(found, scope.tools.deployers.list_hidden_values(ref).reveal())
    with contextlib.suppress(OSError, FabricError):  # it was there a moment ago
        text = read_bytes(Path(scope.placements[ref].folder, Path(config.document.file).name))
        return with_places(
            config, text, [(_build_function_path(one), one.problem) for one in found]
        )
    return [one.problem for one in found]


def _redact(found: Sequence[Unsupported], hidden: frozenset[str]) -> Sequence[Unsupported]:
    """Redact secrets: a limit can quote the setting."""
    return [
        replace(
            one,
            problem=replace(
                one.problem,
                message=redact_values(one.problem.message, hidden),
                hint=redact_values(one.problem.hint, hidden),
            ),
        )
        for one in found
    ]


def _find_unknown_keys(config: Config) -> Iterator[Unsupported]:
    """Find unknown extension keys without effect. A custom command receives all keys."""
    provider_id = config.provider.id
    if find_installed_facts(provider_id):
        return  # only its package knows its keys
    given = json.loads(config.provider.extensions).get(provider_id)
    known = list_extension_keys(provider_id)
    for key in sorted(given.keys() - known) if isinstance(given, dict) else ():
        message = f"`extensions.{provider_id}.{key}` has no effect on built-in deploys"
        hint = (
            suggest_spelling(key, known) or "remove the key: only custom deploy commands receive it"
        )
        keys = ("extensions", provider_id, key)
        yield Unsupported("", Problem("config/unfit", message, hint), keys=keys)


def _find_unsupported_settings(config: Config) -> Iterator[Unsupported]:
    """Find keys of functions that the provider does not support. A custom command receives all."""
    facts = find_provider_facts(config.provider.id)
    known = facts.platform.settings if facts else ()
    for one in config.functions:
        for key, _ in one.settings:
            if key not in known:
                why = f"sets `{key}`, which fabric does not support for {config.provider.id}"
                hint = "remove it, or use a custom deploy command"
                problem = Problem("config/unfit", f"function `{one.name}` {why}", hint)
                yield Unsupported(one.name, problem, keys=(key,))
        if facts is None or not facts.traits.takes_trigger_options:
            yield from _find_unsupported_options(config.provider.id, one)


def _find_unsupported_options(provider_id: str, one: Function) -> Iterator[Unsupported]:
    for number, trigger in enumerate(one.triggers):
        if isinstance(trigger, HttpTrigger) and trigger.path == DEFAULT_ROUTE:
            why = f"has the route `{DEFAULT_ROUTE}`, which only HTTP APIs of AWS have"
            hint = "use the routes `ANY:/` and `ANY:/{path+}`"
            yield Unsupported(one.name, function_problem(one.name, why, hint), number)
        for key in json.loads(getattr(trigger, "options", "") or "{}"):
            why = f"sets `{key}` of a trigger, which fabric does not support for {provider_id}"
            hint = "remove it, or use a custom deploy command"
            yield Unsupported(one.name, function_problem(one.name, why, hint), number)


def _find_unpublished_layers(config: Config) -> Iterator[Unsupported]:
    """Find layers of the project, which a custom command or an installed provider cannot
    publish."""
    facts = find_provider_facts(config.provider.id)
    if facts is None or not facts.traits.attaches_layers:
        return
    own = {layer.name for layer in config.supplies.layers}
    for one in config.functions:
        if own.intersection(one.layers):
            problem = no_publisher_problem(f"function `{one.name}`")
            yield Unsupported(one.name, problem, keys=("layers",))


def _find_nothing_to_deploy(config: Config) -> Iterator[Unsupported]:
    """Find services without functions at providers without stacks and workflows."""
    facts = find_provider_facts(config.provider.id)
    if not config.functions and not (facts and facts.traits.deploys_stacks):
        message = (
            f"`{config.service}` has no functions, and {config.provider.id} deploys only these"
        )
        hint = "add a function, or deploy the service to cloud1-lambda"
        yield Unsupported("", Problem("config/unfit", message, hint), keys=("functions",))


def _find_unsupported_stacks(config: Config) -> Iterator[Unsupported]:
    """Find stacks, which a custom command does not deploy."""
    for one in config.supplies.stacks:
        keys = ("extensions", config.provider.id, "stack", one.phase)
        yield Unsupported("", no_stacks_problem(config.service), keys=keys)


def _find_unsupported_workflows(config: Config) -> Iterator[Unsupported]:
    """Find state machines, which a custom command does not deploy."""
    for _ in config.supplies.machines:
        yield Unsupported("", no_workflows_problem(config.service), keys=("workflows",))


def _build_function_path(one: Unsupported) -> FunctionPath:
    keys = one.keys if one.trigger is None else ("triggers",)
    return FunctionPath(one.function, "", keys, one.trigger or 0)
