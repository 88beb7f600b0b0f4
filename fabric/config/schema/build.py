"""Which keys `build` has, of a config and of one of its functions."""

from fabric.config.schema.shapes import (
    Either,
    Field,
    Fields,
    Flag,
    Many,
    OneOf,
    Table,
    Text,
    Word,
    match_whole,
)
from fabric.config.schema.triggers import FILLED

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
_EXTENSION = Text(match_whole(r"\.[A-Za-z0-9_.-]+"), "a file extension with its dot")

BUILD = Fields(
    (
        Field(
            "command",
            Either((Many(FILLED, least=1), FILLED)),
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
        Field("banner", FILLED, "Text at the top of the bundle.", "/* shop */"),
    )
)
