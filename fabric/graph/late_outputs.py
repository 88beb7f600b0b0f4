"""Late values that a service uses: outputs of its stack, and outputs of other services."""

from collections.abc import Iterable, Iterator

from msgspec.structs import astuple

from fabric.config.values import Config, Function, Trigger
from fabric.graph.bundling import encode_deploy_extensions, encode_function_extensions
from fabric.graph.service_unit import ServiceUnit
from fabric.model.late_values import (
    OWN_API,
    SERVICE_OUTPUT,
    STACK_OUTPUT,
    find_late_names,
    find_url_owner,
    format_binding,
    name_function_url,
    split_default,
)
from fabric.model.problems import FabricError, Problem
from fabric.model.records.record import STACK_PREFIXES, Mode, Record
from fabric.model.task import Pairs
from fabric.model.task_id import TaskId, build_task_id, name_of


def list_late_texts(function: Function) -> Iterator[str]:
    """List the texts of a function that the deployer fills, without its environment."""
    yield from (value for _, value in (*function.settings, *function.tags))
    yield from function.layers
    yield from list_trigger_texts(function.triggers)


def list_trigger_texts(triggers: Iterable[Trigger]) -> Iterator[str]:
    for trigger in triggers:
        for value in astuple(trigger):
            yield from (value,) if isinstance(value, str) else ()
            yield from value if isinstance(value, tuple) else ()


def list_late_names(function: Function) -> tuple[str, ...]:
    """List the late values of a function, also of its environment."""
    texts = (*(value for _, value in function.env), *list_late_texts(function))
    return _list_names(texts)


def _list_names(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted({name for text in texts for name in find_late_names(text)}))


def list_used_outputs(config: Config, function: Function) -> tuple[str, ...]:
    """List the outputs of the stack that a deploy of the function uses."""
    names = (*list_late_names(function), *find_late_names(encode_function_extensions(config)))
    found = {one.removeprefix(STACK_OUTPUT) for one in names if one.startswith(STACK_OUTPUT)}
    return tuple(sorted(found))


def is_stack_used_by_release(config: Config) -> bool:
    names = find_late_names(encode_deploy_extensions(config))
    return any(one.startswith(STACK_OUTPUT) for one in names)


class OutputName:
    """An output of another service: `service:net@prod.stack.SubnetA`."""

    def __init__(self, name: str) -> None:
        plain, self.default = split_default(name)
        owner, _, self.output = plain.removeprefix(SERVICE_OUTPUT).partition(".")
        self.service, _, self.stage = owner.partition("@")

    @property
    def phase(self) -> str:
        """Return the phase of the stack that has the output; empty for outputs of the release."""
        longest = reversed(STACK_PREFIXES.items())
        return next((phase for phase, prefix in longest if self.output.startswith(prefix)), "")


def list_service_outputs(config: Config) -> tuple[str, ...]:
    """List the outputs of other services that a service uses, by their names in the config."""
    stacks = (value for one in config.supplies.stacks for _, value in one.parameters)
    texts = (text for one in config.functions for text in list_late_names(one))
    extensions = find_late_names(encode_deploy_extensions(config))
    names = {*_list_names(stacks), *texts, *extensions}
    return tuple(sorted(one for one in names if one.startswith(SERVICE_OUTPUT)))


def find_output_task(unit: ServiceUnit, name: str) -> TaskId | None:
    """Find the task whose result has an output of another service. In another stage, its
    provider ends with the stage."""
    one = OutputName(name)
    release = dict(unit.needs.names).get(one.service)
    if release is None:
        return None
    owner = name_of(release)
    label = f"{owner.provider}@{one.stage}" if one.stage else owner.provider
    if one.phase:
        return build_task_id("stack", owner.service, one.phase, label)
    return build_task_id("release", owner.service, provider=label)


def list_optional_tasks(unit: ServiceUnit) -> frozenset[str]:
    """List the tasks of other stages all of whose used outputs have a default."""
    names = list_service_outputs(unit.config)
    required = {find_output_task(unit, one) for one in names if OutputName(one).default is None}
    found = {find_output_task(unit, one) for one in names if OutputName(one).stage}
    return frozenset(one for one in found - required if one)


def list_output_tasks(unit: ServiceUnit, names: Iterable[str]) -> tuple[TaskId, ...]:
    found = (find_output_task(unit, one) for one in names)
    return tuple(dict.fromkeys(one for one in found if one))


def list_own_api(record: Record) -> dict[str, str]:
    """List the id and the address of the API of a service, and URLs of its functions, by their
    names in bindings."""
    kept = dict(record.kept)
    # As the releases to AWS store them. A simulated release has no id.
    stand_in = "simulated" if record.mode is Mode.SIMULATED and record.endpoint else ""
    found = kept.get("rest_api") or kept.get("api") or stand_in
    api = {f"{OWN_API}id": found, f"{OWN_API}url": record.endpoint} if found else {}
    with_url = [one.name for one in record.functions if "url" in dict(one.settings)]
    urls = {name_function_url(one): _find_function_url(record, one) for one in with_url}
    return {**api, **{name: url for name, url in urls.items() if url}}


def _find_function_url(record: Record, function: str) -> str:
    """Find the URL of a function, which releases store after a hash of its settings."""
    if record.mode is Mode.SIMULATED:
        return f"https://simulated-{function}.lambda-url.us-east-1.on.aws/"
    return dict(record.kept).get(f"url:{function}", "").partition(" ")[2]


def require_outputs(values: Pairs) -> Pairs:
    """Raise if a value uses an output that the deployed stack or service does not have."""
    missing = {name for _, value in values for name in find_late_names(value)}
    for name in sorted(missing):
        if name.startswith((STACK_OUTPUT, SERVICE_OUTPUT, OWN_API)):
            raise FabricError(missing_output_problem(name))
    return values


def missing_output_problem(name: str) -> Problem:
    if owner := find_url_owner(name):
        message = f"`{format_binding(name)}` has no value: the function has no URL"
        hint = f"add `url: true` to the function `{owner}`"
    elif name.startswith(OWN_API):
        message = f"`${{{name}}}` has no value: the service has no API"
        hint = "add an `http` trigger to a function"
    elif name.startswith(STACK_OUTPUT):
        message = f"the stack of the service has no output `{name.removeprefix(STACK_OUTPUT)}`"
        hint = "add it to `Outputs` of the template"
    else:
        one = OutputName(name)
        stage = f" in stage `{one.stage}`" if one.stage else ""
        message = f"`{one.service}`{stage} has no output `{one.output}`"
        hint = f"run: fabric compose outputs {one.service}"
    return Problem("config/unresolved-reference", message, hint)
