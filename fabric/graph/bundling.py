"""What the tool that builds a function is told besides: the bundler its options, a command its
variables."""

from msgspec.structs import replace

from fabric.config.values import Config, Function
from fabric.model.catalog import facts_of
from fabric.model.late_values import late_names
from fabric.model.task import Pairs
from fabric.model.task_inputs import BuildInputs


def bundled(config: Config, function: Function, inputs: BuildInputs) -> BuildInputs:
    """What only a bundler is told: it counts for nothing else."""
    build = function.build
    facts = facts_of(config.provider.id)
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


def command_env(config: Config, function: Function) -> Pairs:
    """What an own build command may see: compiled graphs lie on disk, so never a secret."""
    return tuple(
        sorted(
            (name, value)
            for name, value in function.env
            if name not in config.secret_names and not late_names(value)
        )
    )
