"""The result of `generate`."""

from typing import ClassVar

from fabric.model.outcomes.json_struct import JsonStruct


class GeneratedFile(JsonStruct, frozen=True):
    """`change` is `create`, `update` or `replace`."""

    path: str
    change: str


class GenerateOutcome(JsonStruct, frozen=True):
    """`diff` shows the file changes without secrets."""

    only_in_words: ClassVar[frozenset[str]] = frozenset({"next_step"})

    kind: str
    name: str
    config: str
    dry_run: bool
    files: tuple[GeneratedFile, ...]
    diff: str
    next_step: str = ""


class InitOutcome(JsonStruct, frozen=True):
    """`files` were written, `kept` existed and stay unchanged. Paths are relative to `folder`."""

    only_in_words: ClassVar[frozenset[str]] = frozenset({"title", "advice"})

    service: str
    folder: str
    template: str
    provider: str
    lang: str
    files: tuple[str, ...]
    kept: tuple[str, ...]
    installed: bool
    next: tuple[str, ...]
    title: str
    # What people should know of the choices.
    advice: str = ""
