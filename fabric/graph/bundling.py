"""Further settings of build tools: bundler options and command variables."""

from msgspec.structs import replace

from fabric.config.values import Config, Function
from fabric.model.catalog import find_provider_facts
from fabric.model.late_values import find_late_names
from fabric.model.task import Pairs
from fabric.model.task_inputs import BuildInputs


def add_bundler_settings(config: Config, function: Function, inputs: BuildInputs) -> BuildInputs:
    """Add the bundler settings. They count only for builds with a bundler."""
    build = function.build
    facts = find_provider_facts(config.provider.id)
    return replace(
        inputs,
        minify=build.minify,
        sourcemap=build.sourcemap,
        external=tuple(name for name in build.external if not name.startswith("!")),
        provided=tuple(
            name
            for name in (facts.node_packages if facts else ())
            if f"!{name}" not in build.external
        ),
        architecture=function.architecture if build.external else "",
        format=build.format,
        target=build.target,
        define=build.define,
        loader=build.loader,
        tsconfig=build.tsconfig,
        keep_names=build.keep_names,
        banner=build.banner,
    )


def build_command_env(config: Config, function: Function) -> Pairs:
    """Build the variables of a custom build command. They never include secrets, because graphs are
    stored on disk."""
    return tuple(
        sorted(
            (name, value)
            for name, value in function.env
            if name not in config.secret_names and not find_late_names(value)
        )
    )
