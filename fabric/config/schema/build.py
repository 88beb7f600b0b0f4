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
    whole,
)
from fabric.config.schema.triggers import FILLED

LOADERS = (
    "base64", "binary", "copy", "css", "dataurl", "default", "empty", "file", "js", "json", "jsx",
    "local-css", "text", "ts", "tsx",
)  # fmt: skip
_TARGET = Text(
    whole(r"(?:node|es)[0-9]+(?:\.[0-9]+){0,2}|esnext"),
    "a version of Node or of the language, like node20 or es2022",
)
_DEFINED = Text(
    whole(r"[A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*)*"), "a name, or names with dots between"
)
_EXTENSION = Text(whole(r"\.[A-Za-z0-9_.-]+"), "the end of a file's name, with its dot")

BUILD = Fields(
    (
        Field(
            "command",
            Either((Many(FILLED, least=1), FILLED)),
            "Builds the functions in place of the built-in build: a list, or one line.",
            ["npm", "run", "build"],
        ),
        Field(
            "portable",
            Flag(),
            "The command needs files of the workspace alone: an executor may run it elsewhere.",
            example=True,
        ),
        Field("ignore", Many(FILLED), "Files that `include` leaves out.", ["**/*.test.ts"]),
        Field("minify", Flag(), "Make the bundle small; false when left out.", example=True),
        Field("sourcemap", Flag(), "Put a source map in; false when left out.", example=True),
        Field(
            "external",
            Many(FILLED),
            "Packages that are not bundled: names, globs, or `node_modules` for all of them.",
            ["sharp", "@img/*"],
        ),
        Field(
            "format",
            OneOf(("cjs", "esm"), "a module format"),
            "CommonJS or ES modules; chosen by the entry when left out.",
            "esm",
        ),
        Field("target", _TARGET, "What the code is written for; else the runtime.", "node20"),
        Field(
            "define",
            Table(Word(), _DEFINED, "process.env.STAGE"),
            "Names that are replaced by JavaScript expressions.",
            {"process.env.STAGE": '"prod"'},
        ),
        Field(
            "loader",
            Table(OneOf(LOADERS, "a loader"), _EXTENSION, ".sql"),
            "How files are loaded, by the end of their names.",
            {".sql": "text"},
        ),
        Field("tsconfig", FILLED, "The tsconfig in place of those found.", "tsconfig.build.json"),
        Field("keepNames", Flag(), "Keep names of functions and classes.", example=True),
        Field("banner", FILLED, "Text at the top of the bundle.", "/* shop */"),
    )
)
