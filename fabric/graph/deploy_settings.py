"""What deploy tasks compare of a function and of its place: values in plain text or as hashes."""

from fabric.config.values import Config, Function, Workflow
from fabric.graph.bundling import (
    encode_deploy_extensions,
    encode_function_extensions,
    list_deploy_secrets,
)
from fabric.graph.late_outputs import list_late_texts, list_used_outputs
from fabric.graph.service_unit import ServiceUnit
from fabric.model.calls.concurrency import encode_concurrency
from fabric.model.catalog import find_provider_facts
from fabric.model.hashing import hash_fields
from fabric.model.late_values import show_placeholders
from fabric.model.secrets.secret_pins import list_secret_versions
from fabric.model.task import Pairs
from fabric.model.task_inputs import Spec


def choose_runtime(unit: ServiceUnit, function: Function) -> str:
    return function.runtime or unit.config.provider.runtime


def build_spec(unit: ServiceUnit, function: Function) -> Spec:
    """Build the spec. Values that can contain secrets are hashed, because graphs are stored on
    disk."""
    settings: Pairs = (
        ("runtime", choose_runtime(unit, function)),
        ("entry", function.entry),
        ("memory", str(function.capacity.memory)),
        ("timeout", str(function.capacity.timeout)),
        ("architecture", function.capacity.architecture),
        ("triggers", hash_fields((_describe_triggers(function),))),
        ("layers", hash_fields((repr(list_layers(unit, function)),))),
        ("tags", hash_fields((repr(function.tags),))),
        (
            "concurrency",
            encode_concurrency(
                function.capacity.reserved_concurrency, function.capacity.provisioned_concurrency
            ),
        ),
    )
    env = tuple((name, hash_fields((value,))) for name, value in sorted(function.env))
    if function.build.package.is_image:
        settings += (("package", "image"),)
    outputs = list_used_outputs(unit.config, function)
    if outputs:
        settings += (("stack", " ".join(outputs)),)
    settings += list_secret_versions(
        (*(value for _, value in function.env), *list_late_texts(function))
    )
    own = tuple((name, show_placeholders(text)) for name, text in function.settings)
    settings += (*own, *list_deploy_secrets(unit.config, function))
    return function.name, settings, env


def _describe_triggers(function: Function) -> str:
    """Describe the triggers. Without newer keys the text is that of older versions of fabric."""
    text = repr(function.triggers)
    for empty in (", stream=''", ", options=''"):
        text = text.replace(empty, "")
    return text


def list_layers(unit: ServiceUnit, function: Function) -> tuple[str, ...]:
    """List the layers; empty if the provider does not support them."""
    facts = find_provider_facts(unit.config.provider.id)
    return function.layers if facts and facts.traits.attaches_layers else ()


def describe_function_place(unit: ServiceUnit) -> Pairs:
    """Describe where functions are deployed, with the settings that their deploys read."""
    return _describe_place(unit, encode_function_extensions(unit.config))


def describe_release_place(unit: ServiceUnit) -> Pairs:
    return _describe_place(unit, encode_deploy_extensions(unit.config))


def _list_step_workflows(config: Config) -> tuple[Workflow, ...]:
    """List the workflows without a definition. State machines have separate tasks."""
    machines = {one.name for one in config.supplies.machines}
    return tuple(one for one in config.supplies.workflows if one.name not in machines)


def _describe_place(unit: ServiceUnit, extensions: str) -> Pairs:
    config = unit.config
    return (
        ("provider-id", config.provider.id),
        ("region", config.provider.region),
        ("extensions", hash_fields((extensions,))),
        ("workflows", hash_fields((repr(_list_step_workflows(config)),))),
        *unit.account,
    )
