"""Which keys `build` has, of a config and of one of its functions."""

from msgspec.structs import replace

from fabric.config.schema.shapes import (
    Either,
    Field,
    Fields,
    Flag,
    Integer,
    Many,
    Named,
    OneOf,
    Table,
    Text,
    Word,
    match_whole,
)
from fabric.config.schema.triggers import FILLED
from fabric.model.builds.command_runtimes import PresetName
from fabric.model.names import CACHED_EVENTS, StepEvent

LOADERS = (
    "base64", "binary", "copy", "css", "dataurl", "default", "empty", "file", "js", "json", "jsx",
    "local-css", "text", "ts", "tsx",
)  # fmt: skip
_TARGET = Text(
    match_whole(r"(?:node|es)[0-9]+(?:\.[0-9]+){0,2}|esnext"),
    "a Node.js or language version, such as node20 or es2022",
)
_DEFINED = Text(
    match_whole(r"[A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*)*"), "a name, or names separated by dots"
)
_GROUP = Text(
    match_whole(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"),
    "letters and digits, with `.`, `-` or `_` between them",
)
_EXTENSION = Text(match_whole(r"\.[A-Za-z0-9_.-]+"), "a file extension with its dot")

_STEP_NAME = Text(
    match_whole("[A-Za-z0-9][A-Za-z0-9_.-]{0,62}"),
    "1 to 63 characters: letters, digits, `_`, `.` or `-`, starting with a letter or digit",
)
_VARIABLE = Text(
    match_whole("[A-Za-z_][A-Za-z0-9_]*"), "letters, digits and `_`, not starting with a digit"
)
_COMMAND = Either((Many(FILLED, least=1), FILLED))
BUILD = Fields(
    (
        Field(
            "command",
            _COMMAND,
            "Command that replaces the built-in build: a list of arguments, or one line.",
            ["npm", "run", "build"],
        ),
        Field(
            "portable",
            Flag(),
            "Whether the command reads only files of the workspace, so that an executor can "
            "run it on another machine. Default: false.",
            example=True,
        ),
        Field(
            "ignore",
            Many(FILLED),
            "Globs of files that the command does not read.",
            ["**/*.test.ts"],
        ),
        Field(
            "preset",
            OneOf(tuple(PresetName), "a preset"),
            "Language of a function without a built-in build. Sets the command and the keys below.",
            "go",
        ),
        Field(
            "inputs",
            Many(FILLED),
            "Globs of files that the command reads; `!` excludes. Default: those of the preset, "
            "otherwise all files of the service.",
            ["go.mod", "**/*.go"],
        ),
        Field(
            "depfile",
            Flag(),
            "Whether the command writes the files that it read to $FABRIC_DEPFILE, in the form of "
            "a Makefile. Default: that of the preset, otherwise false.",
            example=True,
        ),
        Field(
            "outputs",
            Many(FILLED),
            "Globs of files that the command must write to $FABRIC_OUT_DIR.",
            ["bootstrap"],
        ),
        Field(
            "caches",
            Table(_STEP_NAME, _VARIABLE, "GOCACHE"),
            "Directories that are kept between builds: environment variable and name.",
            {"GOCACHE": "go"},
        ),
        Field(
            "tools",
            Many(_COMMAND),
            "Commands whose output is part of the cache key, such as versions of compilers.",
            [["go", "version"]],
        ),
        Field("minify", Flag(), "Whether to minify the bundle. Default: false.", example=True),
        Field("sourcemap", Flag(), "Whether to write a source map. Default: false.", example=True),
        Field(
            "external",
            Many(FILLED),
            "Packages to exclude from the bundle: names, globs, or `node_modules` for all.",
            ["sharp", "@img/*"],
        ),
        Field(
            "format",
            OneOf(("cjs", "esm"), "a module format"),
            "Module format of the bundle. Default: inferred from the entry.",
            "esm",
        ),
        Field(
            "target",
            _TARGET,
            "JavaScript version of the bundle. Default: the version of the runtime.",
            "node20",
        ),
        Field(
            "define",
            Table(Word(), _DEFINED, "process.env.STAGE"),
            "Names to replace with JavaScript expressions at build time.",
            {"process.env.STAGE": '"prod"'},
        ),
        Field(
            "loader",
            Table(OneOf(LOADERS, "a loader"), _EXTENSION, ".sql"),
            "esbuild loaders by file extension.",
            {".sql": "text"},
        ),
        Field(
            "tsconfig",
            FILLED,
            "Path of the tsconfig. Default: the nearest one.",
            "tsconfig.build.json",
        ),
        Field(
            "keepNames",
            Flag(),
            "Whether to keep names of functions and classes when minifying.",
            example=True,
        ),
        Field(
            "groups",
            Many(_GROUP),
            "Dependency groups of the Python project to pack beside its main dependencies.",
            ["worker"],
        ),
        Field(
            "extras",
            Many(_GROUP),
            "Extras of the Python project to pack beside its main dependencies.",
            ["fast"],
        ),
        Field("banner", FILLED, "Text at the top of the bundle.", "/* shop */"),
    ),
    definition="build",
)

_HEAD = (
    Field("name", _STEP_NAME, "Name of the step, unique in the service.", "generate"),
    Field(
        "command",
        _COMMAND,
        "Command to run in the service directory: a list of arguments, or one line.",
        ["npx", "prisma", "generate"],
        required=True,
    ),
)
_TIMEOUT = Field("timeout", Integer(1, 86_400), "Maximum duration, in seconds. Default: 600.", 300)
CACHED_STEP = Fields(
    (
        *_HEAD,
        Field(
            "inputs",
            Many(FILLED),
            "Globs of files that the command reads; `!` excludes. Default: all files of the "
            "service, except ignored files and outputs.",
            ["prisma/**"],
        ),
        Field(
            "outputs",
            Many(FILLED),
            "Globs of files or directories that the command writes.",
            ["src/generated/**"],
        ),
        _TIMEOUT,
    ),
    definition="step",
)
DEPLOY_HOOK = Fields(
    (
        *_HEAD,
        _TIMEOUT,
        Field(
            "simulated",
            Flag(),
            "Whether to run the hook also in simulated deploys. Default: false.",
            example=True,
        ),
    ),
    definition="hook",
)
_NAMED_STEP = replace(
    CACHED_STEP, fields=(replace(_HEAD[0], required=True), *CACHED_STEP.fields[1:])
)
SERVICE_BUILD = Fields(
    (
        *BUILD.fields,
        Field(
            "before",
            Named(_NAMED_STEP, key=_STEP_NAME),
            "Commands to run in order before the functions are built. Unchanged ones are cached.",
            [{"name": "generate", "command": "npx prisma generate", "inputs": ["prisma/**"]}],
        ),
    )
)


def _build_hook_fields(event: StepEvent) -> tuple[Field, ...]:
    """Build the fields of an event: its name, and the form `before:deploy`."""
    entry = CACHED_STEP if event in CACHED_EVENTS else DEPLOY_HOOK
    when, _, what = event.partition("-")
    shape = Either((Many(Either((entry, FILLED))), FILLED))
    doc = f"Commands to run {when} the {what} of the service."
    return tuple(Field(name, shape, doc, ["./run.sh"]) for name in (event, f"{when}:{what}"))


# Other keys, of other tools, are kept with a warning.
HOOKS = Fields(
    tuple(one for event in StepEvent for one in _build_hook_fields(event)),
    is_open=True,
    accepts=lambda _: True,
)
