"""Results of commands that create a project."""

from typing import ClassVar

from fabric.model.outcomes.json_struct import JsonStruct


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
