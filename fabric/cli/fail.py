"""A failed command line, as text or as one JSON document, with the exit code that goes with it."""

import traceback

import click

from fabric.app.settings import read_settings
from fabric.cli.screen import Screen
from fabric.model.problems import FabricError, Problem
from fabric.model.report import failure

_GROUPS = ("compose", "cache", "runs")


def explain(argv: list[str], error: BaseException) -> int:
    """Whether JSON is wanted is read from the raw words: usage errors obey `--json` too."""
    screen = Screen.of(read_settings(), as_json="--json" in argv, colour="auto")
    return screen.finish(failure(command_of(argv), _as_problem(error)))


def command_of(argv: list[str]) -> str:
    """The command as far as it can be told from the words."""
    words = []
    for word in argv:
        if word.startswith("-"):
            break
        words.append(word)
    return " ".join(words[: 2 if words[:1] and words[0] in _GROUPS else 1]) or "fabric"


def _as_problem(error: BaseException) -> FabricError:
    match error:
        case FabricError():
            return error
        case click.UsageError():
            return _usage(error)
        case KeyboardInterrupt() | click.Abort():
            hint = "run it again to go on"
            return FabricError(Problem("run/interrupted", "interrupted", hint=hint))
        case _:
            return _internal(error)


def _usage(error: click.UsageError) -> FabricError:
    message = error.format_message().rstrip(".")
    possible = getattr(error, "possibilities", None)
    command = error.ctx.command_path if error.ctx else "fabric"
    hint = f"did you mean {possible[0]}?" if possible else f"see `{command} --help`"
    code = "usage/unknown-option" if isinstance(error, click.NoSuchOption) else "usage/bad-value"
    # click puts its own guess into the message; ours stands in the hint.
    message = message.partition(" Did you mean")[0].rstrip(".")
    return FabricError(Problem(code, message[:1].lower() + message[1:], hint=hint))


def _internal(error: BaseException) -> FabricError:
    place = traceback.extract_tb(error.__traceback__)[-1]
    return FabricError(
        Problem(
            "internal/error",
            f"{type(error).__name__}: {error}",
            hint=f"a bug in fabric, at {place.name}:{place.lineno}; please report it",
        )
    )
