"""A failed command line, as text or as one JSON document."""

import sys

from fabric.model.problems import FabricError
from fabric.model.report import failure


def explain_failure(argv: list[str], error: FabricError) -> int:
    """Whether JSON is wanted is read from the raw words: usage errors obey `--json` too."""
    from fabric.app.settings import read_settings
    from fabric.cli.screen import Screen

    settings = read_settings()
    screen = Screen.of(settings, as_json="--json" in argv, colour=_colour(argv))
    return screen.finish(failure(command_of(argv), error))


def _colour(argv: list[str]) -> str:
    """What `--color` says, as far as it can be told from the words."""
    words = [part for word in argv for part in word.split("=", 1)]
    said = words[words.index("--color") + 1 :] if "--color" in words else []
    return said[0] if said and said[0] in ("always", "never") else "auto"


def command_of(argv: list[str]) -> str:
    """The command as far as it can be told from the words."""
    words = []
    for word in argv:
        if word.startswith("-"):
            break
        words.append(word)
    groups = ("compose", "cache", "runs")
    return " ".join(words[: 2 if words[:1] and words[0] in groups else 1]) or "fabric"


def say(text: str) -> None:
    sys.stderr.write(f"{text}\n")
