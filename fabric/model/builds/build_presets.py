"""Presets of build commands: one row for each language.

A preset fills the settings that the config leaves open. Its command is a shell script.
"""

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from fabric.model.builds import preset_scripts
from fabric.model.builds.command_runtimes import PresetName
from fabric.model.task import Pairs
from fabric.model.task_inputs import BuildInputs

# The program and its first arguments; the script is the last one.
_SHELL = ("sh", "-eu", "-c")


class PresetInputs(Struct, frozen=True, kw_only=True):
    """The files that a preset reads."""

    # Globs, for commands that do not list their inputs.
    patterns: tuple[str, ...]
    # Whether the script lists its inputs.
    has_depfile: bool = False
    # Names of project files, looked for in each directory with sources and above it.
    project_files: tuple[str, ...] = ()
    # Extensions that imports can omit: their names count in each directory with sources and above
    # it.
    extensions: tuple[str, ...] = ()
    # Ignore rules: directories that builds write, and files that they never read.
    ignore: tuple[str, ...] = ()


NO_INPUTS = PresetInputs(patterns=())


class Preset(Struct, frozen=True, kw_only=True):
    """The build of one language."""

    script: str
    inputs: PresetInputs
    # Commands that print versions. Their programs are required.
    tools: tuple[tuple[str, ...], ...]
    # How to install the tools.
    install: str
    env: Pairs = ()
    # Maps variables to directories. `{service}` is replaced by the name of the service.
    caches: Pairs = ()
    # Whether `entry` can be the name of a program instead of a path.
    has_named_programs: bool = False

    @property
    def command(self) -> tuple[str, ...]:
        return (*_SHELL, self.script)


_EXTENSIONS = (".ts", ".tsx", ".mts", ".js", ".jsx", ".mjs", ".cjs", ".json")
_WEB = tuple(f"**/*{extension}" for extension in _EXTENSIONS)
PRESETS: Mapping[str, Preset] = {
    PresetName.GO: Preset(
        script=preset_scripts.GO,
        inputs=PresetInputs(
            patterns=("**/*.go", "**/*.s", "**/*.h"),
            has_depfile=True,
            project_files=("go.mod", "go.sum", "go.work", "go.work.sum", "vendor/modules.txt"),
            ignore=("*_test.go", "/bin/", "testdata/"),
        ),
        tools=(("go", "version"),),
        install="install Go: https://go.dev/doc/install",
        env=(("CGO_ENABLED", "0"), ("GOTOOLCHAIN", "local")),
        caches=(("GOCACHE", "go"),),
    ),
    PresetName.RUST: Preset(
        script=preset_scripts.RUST,
        inputs=PresetInputs(
            patterns=("**/*.rs",),
            has_depfile=True,
            project_files=(
                *("Cargo.toml", "Cargo.lock", "build.rs", ".cargo/config.toml"),
                *("rust-toolchain.toml", "rust-toolchain"),
            ),
            ignore=("target/",),
        ),
        tools=(("rustc", "-vV"), ("cargo", "-V")),
        install="install Rust: https://rustup.rs",
        caches=(("CARGO_TARGET_DIR", "rust-{service}"),),
        has_named_programs=True,
    ),
    PresetName.JAVA: Preset(
        script=preset_scripts.JAVA,
        inputs=PresetInputs(
            patterns=("**/*.java", "lib/*.jar", "src/main/resources/**"),
            ignore=("/target/", "/build/", "src/test/"),
        ),
        tools=(("javac", "-version"), ("jlink", "--version")),
        install="install a JDK, such as the package default-jdk-headless",
        caches=(("FABRIC_JAVA_RUNTIMES", "java"),),
    ),
    PresetName.BUN: Preset(
        script=preset_scripts.BUN,
        inputs=PresetInputs(
            patterns=_WEB,
            has_depfile=True,
            project_files=("package.json", "tsconfig.json", "bun.lock", "bun.lockb", "bunfig.toml"),
            extensions=_EXTENSIONS,
        ),
        tools=(("bun", "--revision"),),
        install="install Bun: https://bun.com/docs/installation",
    ),
    PresetName.DENO: Preset(
        script=preset_scripts.DENO,
        inputs=PresetInputs(
            patterns=_WEB,
            has_depfile=True,
            project_files=("deno.json", "deno.jsonc", "deno.lock"),
        ),
        tools=(("deno", "--version"),),
        install="install Deno: https://docs.deno.com/runtime",
        caches=(("DENO_DIR", "deno"),),
    ),
    PresetName.DOTNET: Preset(
        script=preset_scripts.DOTNET,
        inputs=PresetInputs(
            patterns=("**",),
            ignore=("bin/", "obj/", "*.user"),
        ),
        tools=(("dotnet", "--version"),),
        install="install the .NET SDK: https://dotnet.microsoft.com/download",
        env=(("DOTNET_CLI_TELEMETRY_OPTOUT", "1"), ("DOTNET_NOLOGO", "1")),
    ),
    PresetName.RUBY: Preset(
        script=preset_scripts.RUBY,
        inputs=PresetInputs(
            patterns=("**/*.rb", "Gemfile", "Gemfile.lock"),
            ignore=("/vendor/", "spec/", "test/"),
        ),
        # Only a service with gems needs Ruby. The script checks its version.
        tools=(),
        install="install Ruby and Bundler",
    ),
}


def apply_preset(name: str, inputs: BuildInputs, *, depfile: bool | None) -> BuildInputs:
    """Fill the settings that the config does not set with those of the preset.

    A command of the config does not list its inputs unless `depfile` is set, so the patterns of the
    preset count for it.
    """
    preset = PRESETS[name]
    is_own = not inputs.command
    lists_inputs = is_own and preset.inputs.has_depfile and not inputs.inputs
    has_depfile = lists_inputs if depfile is None else depfile
    patterns = () if has_depfile else preset.inputs.patterns
    caches = ((key, one.replace("{service}", inputs.service)) for key, one in preset.caches)
    return replace(
        inputs,
        preset=name,
        command=inputs.command or preset.command,
        env=_merge(preset.env, inputs.env),
        inputs=inputs.inputs or patterns,
        depfile=has_depfile,
        caches=_merge(tuple(caches), inputs.caches),
        tools=inputs.tools or preset.tools,
    )


def _merge(defaults: Pairs, own: Pairs) -> Pairs:
    return tuple(sorted({**dict(defaults), **dict(own)}.items()))
