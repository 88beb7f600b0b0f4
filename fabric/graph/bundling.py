"""Further settings of build tools: bundler options and command variables."""

import json
import re
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from fabric.config.values import Config, Function
from fabric.config.yaml.read import encode_canonical
from fabric.graph.service_unit import ServiceUnit
from fabric.model.calls.conventions import AS_EVENTS, find_conventions
from fabric.model.catalog import DeployUnit, find_provider_facts
from fabric.model.late_values import find_late_names
from fabric.model.task import Pairs
from fabric.model.task_inputs import BuildInputs


def add_bundler_settings(config: Config, function: Function, inputs: BuildInputs) -> BuildInputs:
    """Add the bundler settings. They count only for builds with a bundler."""
    build = function.build
    facts = None if build.package.is_image else find_provider_facts(config.provider.id)
    return replace(
        inputs,
        minify=build.bundle.minify,
        sourcemap=build.bundle.sourcemap,
        external=tuple(name for name in build.bundle.external if not name.startswith("!")),
        provided=tuple(
            name
            for name in (facts.platform.node_packages if facts else ())
            if f"!{name}" not in build.bundle.external
        ),
        architecture=function.capacity.architecture if build.bundle.external else "",
        format=build.bundle.format,
        target=build.bundle.target,
        define=build.bundle.define,
        loader=build.bundle.loader,
        tsconfig=build.bundle.tsconfig,
        keep_names=build.bundle.keep_names,
        banner=build.bundle.banner,
    )


def add_command_settings(function: Function, inputs: BuildInputs) -> BuildInputs:
    """Add the settings of a build command. Those of the config replace those of its preset."""
    custom = function.build.custom
    inputs = replace(
        inputs,
        inputs=custom.inputs,
        depfile=bool(custom.depfile),
        outputs=custom.outputs,
        caches=custom.caches,
        tools=custom.tools,
    )
    if not custom.preset:
        return inputs
    from fabric.model.builds.build_presets import apply_preset  # few functions have one

    inputs = replace(inputs, architecture=function.capacity.architecture or "x86_64")
    return apply_preset(custom.preset, inputs, depfile=custom.depfile)


def build_command_env(config: Config, function: Function) -> Pairs:
    """Build the variables of a custom build command. They never include secrets, because graphs are
    stored on disk."""
    return tuple(
        sorted(
            (name, value)
            for name, value in function.env
            if name not in config.document.secret_names and not find_late_names(value)
        )
    )


def encode_deploy_extensions(config: Config) -> str:
    """Encode the extensions without the router and the stacks, which have separate tasks."""
    text = config.provider.extensions
    if '"router"' not in text and not config.supplies.stacks:
        return text
    sections = json.loads(text)
    sections.pop("router", None)
    if config.supplies.stacks:
        sections[config.provider.id].pop("stack", None)
    return encode_canonical(sections)


def encode_function_extensions(config: Config) -> str:
    """Encode the extensions that deploys of functions read."""
    text, provider_id = encode_deploy_extensions(config), config.provider.id
    facts = find_provider_facts(provider_id)
    keys = facts.platform.deploy_extensions if facts else ()
    later = facts.platform.release_extensions if facts else ()
    sections = json.loads(text) if keys or later else {}
    if not isinstance(sections.get(provider_id), dict):
        return text
    given = sections.pop(provider_id)
    if given and given.keys() <= {*later}:
        return encode_canonical(sections)
    own = {
        key: value for key, value in given.items() if (key in keys if keys else key not in later)
    }
    return encode_canonical({**sections, provider_id: own})


def list_static_patterns(config: Config, function: Function) -> tuple[str, ...]:
    """List the pattern of the static files that the archive of a function contains."""
    facts = find_provider_facts(config.provider.id)
    key = facts.platform.static_files if facts else ""
    if not key or f'"{key}"' not in config.provider.extensions:
        return ()
    section = json.loads(config.provider.extensions).get(config.provider.id)
    given = section.get(key) if isinstance(section, dict) else None
    folder = given.get("directory") if isinstance(given, dict) else None
    is_any = facts is not None and facts.unit is DeployUnit.SERVICE
    only = config.functions[0].name if is_any or len(config.functions) == 1 else ""
    if not isinstance(folder, str) or (given or {}).get("function", only) != function.name:
        return ()
    return (f"{folder.rstrip('/')}/**",)


def find_first_function(config: Config) -> str:
    """Return the function that is deployed before the others, because they use something of it;
    empty if there is none."""
    facts = find_provider_facts(config.provider.id)
    path = facts.platform.first_function if facts else ()
    if not path or f'"{path[-2]}"' not in config.provider.extensions:
        return ""
    found: object = json.loads(config.provider.extensions).get(config.provider.id)
    for key in path:
        found = found.get(key) if isinstance(found, dict) else None
    return found if isinstance(found, str) else ""


def list_deploy_secrets(config: Config, function: Function) -> Pairs:
    """List the secrets, only for providers that send them differently."""
    facts = find_provider_facts(config.provider.id)
    names = sorted({name for name, _ in function.env} & config.document.secret_names)
    is_told = names and facts is not None and facts.traits.hides_secrets
    return (("secrets", ", ".join(names)),) if is_told else ()


# Which exports of a module count as its handler, where a provider calls more than `handler`.
# What an entry may name behind its module; a file has its extension there.
_EXPORT = re.compile(r"\.(?!(?:[cm]?[jt]s|[jt]sx|py)$)([^./]+)$")


def with_handlers(provider_id: str, inputs: BuildInputs) -> BuildInputs:
    """Add the handlers that the provider calls, unless the entry or the convention already
    determines them."""
    calls = find_conventions(provider_id).of(inputs.runtime)
    named = _EXPORT.search(inputs.entry)
    if calls == AS_EVENTS.of(inputs.runtime) or (named and named[1] != "default"):
        return inputs
    return replace(inputs, handlers=() if named else calls.names, methods=calls.methods)


PartsOf: TypeAlias = Callable[[ServiceUnit, Function], Hashable]
# By service, target and function.
_Key: TypeAlias = tuple[str, str, str]


class Variants(Struct, frozen=True):
    """The target name of each build and archive; none if all targets share it."""

    builds: Mapping[_Key, str] = field(default_factory=dict)
    packages: Mapping[_Key, str] = field(default_factory=dict)

    def build(self, unit: ServiceUnit, function: Function) -> str:
        return self.builds.get((unit.service, unit.apart, function.name), "")

    def package(self, unit: ServiceUnit, function: Function) -> str:
        return self.packages.get((unit.service, unit.apart, function.name), "")


def group_variants(
    units: Sequence[ServiceUnit], build_parts: PartsOf, package_parts: PartsOf
) -> Variants:
    """Group equal builds under their first target. A service with one target has no variant."""
    several = [unit for unit in units if unit.apart]
    if not several:
        return Variants()
    rows = [
        ((unit.service, unit.apart, one.name), build_parts(unit, one), package_parts(unit, one))
        for unit in several
        for one in unit.config.functions
    ]
    builds = _map_first_labels({key: built for key, built, _ in rows})
    return Variants(
        builds, _map_first_labels({key: (builds[key], packed) for key, _, packed in rows})
    )


def _map_first_labels(parts: Mapping[_Key, Hashable]) -> dict[_Key, str]:
    first: dict[tuple[str, str, Hashable], str] = {}
    for (service, label, function), one in parts.items():
        first.setdefault((service, function, one), label)
    kinds = Counter((service, function) for service, function, _ in first)
    return {
        key: first[key[0], key[2], one] if kinds[key[0], key[2]] > 1 else ""
        for key, one in parts.items()
    }
