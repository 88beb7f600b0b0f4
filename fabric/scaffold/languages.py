"""The languages of new functions: one row for each."""

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct

_NODE_CHECKS = ("npm install", "npm test")
PYTHON_CHECKS = ("pip install -r requirements-dev.txt", "python -m pytest")


class LanguageFacts(Struct, frozen=True, kw_only=True):
    """The facts of a language."""

    title: str
    # The family of runtimes.
    family: str
    # Commands that test a new project, on a machine with the tools of the language.
    checks: tuple[str, ...]
    # Files that git ignores.
    ignored: tuple[str, ...]
    # Of the build; empty for built-in builds.
    preset: str = ""
    # A project of this language has this file.
    manifest: str = ""


class Language(StrEnum):
    TYPESCRIPT = "ts"
    JAVASCRIPT = "js"
    PYTHON = "py"
    GO = "go"
    RUST = "rust"

    @property
    def facts(self) -> LanguageFacts:
        return _FACTS[self]

    @property
    def runtime(self) -> str:
        """The family of runtimes."""
        return self.facts.family

    @property
    def is_program(self) -> bool:
        """Return whether a preset builds a program, with its own client of the Runtime API."""
        return bool(self.facts.preset)


_NODE_IGNORED = ("node_modules/",)
_FACTS: Mapping[Language, LanguageFacts] = {
    Language.TYPESCRIPT: LanguageFacts(
        title="TypeScript", family="nodejs", checks=_NODE_CHECKS, ignored=_NODE_IGNORED
    ),
    Language.JAVASCRIPT: LanguageFacts(
        title="JavaScript", family="nodejs", checks=_NODE_CHECKS, ignored=_NODE_IGNORED
    ),
    Language.PYTHON: LanguageFacts(
        title="Python",
        family="python",
        checks=PYTHON_CHECKS,
        ignored=(".venv/", "__pycache__/", ".pytest_cache/"),
    ),
    Language.GO: LanguageFacts(
        title="Go",
        family="provided",
        checks=("go test ./...",),
        ignored=(),
        preset="go",
        manifest="go.mod",
    ),
    Language.RUST: LanguageFacts(
        title="Rust",
        family="provided",
        checks=("cargo test",),
        ignored=("target/",),
        preset="rust",
        manifest="Cargo.toml",
    ),
}
