"""Run one custom command: its input, and the evaluation of its result."""

import shlex
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from msgspec import Struct

from fabric.model.late_values import require_known_values
from fabric.model.problems import FabricError, Problem
from fabric.providers.core.contract import NO_CONTEXT, CallContext
from fabric.providers.core.payloads import DOCUMENTS, WORDS
from fabric.providers.core.provider import CommandEnvironment
from fabric.providers.core.redaction import Redaction, TalkRedaction
from fabric.system.files.disk import write_atomic
from fabric.system.files.memory_file import build_shown_path, create_memory_file
from fabric.system.files.owned_folder import create_owned_folder
from fabric.system.process.bounded_process import Ending, Limits, Overheard, run_bounded
from fabric.system.process.child_protocol import ChildTalk
from fabric.system.process.process_identity import (
    build_children_mark,
    identify_this_process,
)

# One variable with its name, `=` and NUL; Linux starts no child with a longer one.
LONGEST_VARIABLE = 131_071
_QUOTED_LINES = 20
_QUOTED_LETTERS = 300
# What a command has to end in once the run was interrupted.
PATIENCE = 10.0
_OURS = frozenset((*WORDS, *DOCUMENTS, *(f"{name}_FILE" for name in DOCUMENTS)))
_ROLE_TOO_NEW = "cannot be assumed"


def _shorten_line(line: str) -> str:
    return line if len(line) <= _QUOTED_LETTERS else f"{line[:_QUOTED_LETTERS]}…"


class CommandOutput(Struct, frozen=True):
    """The input of a command: short variables, documents as variables, and standard input."""

    words: Mapping[str, str]
    documents: Mapping[str, str]
    order: str


class Call(Struct, frozen=True):
    """A command line, the variable that contains it, and the code and text of its failures."""

    variable: str
    line: str
    failed: str
    redaction: Redaction

    def argv(self) -> list[str]:
        try:
            words = shlex.split(self.line)
        except ValueError as error:
            raise self.problem(f"cannot be parsed: {str(error).lower()}") from error
        if not words or not words[0]:
            raise self.problem("is empty")
        return words

    def problem(self, what: str, said: str = "", code: str = "", hint: str = "") -> FabricError:
        if _ROLE_TOO_NEW in said:
            hint = "retry in 20 to 60 seconds: a new role cannot be used immediately"
        hint = hint or "run the command manually, without a shell, to see its full output"
        lines = said.strip().splitlines()
        lines = [_shorten_line(line) for line in lines[-_QUOTED_LINES:]]
        frame = "\n".join(lines)
        # Programs that read JSON see no frame.
        last = f": {lines[-1].strip()}" if lines else ""
        message = f"the command in `{self.variable}` {what}{last}"
        return FabricError(Problem(code or self.failed, message, hint=hint, frame=frame))

    def format_output(self, heard: Overheard) -> str:
        """Return all output without secrets. Errors come last, because users look there first."""
        return "\n".join(
            text.strip()
            for raw in (heard.stdout, heard.stderr)
            if (text := self.redaction.text(raw))
        )


def run_line(
    call: Call, told: CommandOutput, around: CommandEnvironment, watch: CallContext = NO_CONTEXT
) -> Overheard:
    """Run the command until it succeeds, or raise the reason of its failure."""
    argv = call.argv()
    texts = (*told.words.values(), *told.documents.values(), told.order)
    require_known_values(f"the command in `{call.variable}`", texts)
    inherited = {name: text for name, text in around.env.reveal().items() if name not in _OURS}
    shown = TalkRedaction(call.redaction)
    talk = ChildTalk(
        told.order.encode(),
        lambda line: watch.hear(shown.line(line)),
        watch.is_to_end,
        PATIENCE,
    )
    with _write_documents(told.documents, around.payloads) as given:
        mark, value = build_children_mark(identify_this_process())
        env = {**inherited, **told.words, **given, mark: value}
        try:
            heard = run_bounded(argv, cwd=around.cwd, env=env, limits=around.limits, talk=talk)
        except FabricError as error:
            raise call.problem(error.first.message) from error
    return _require_success(call, heard, around.limits)


def _require_success(call: Call, heard: Overheard, limits: Limits) -> Overheard:
    match heard.ending:
        case Ending.TIMED_OUT:
            raise call.problem(
                f"did not end within {limits.seconds:.0f} s", call.format_output(heard)
            )
        case Ending.TOO_MUCH:
            raise call.problem(f"wrote more than {limits.stdout:,} bytes of output")
        case Ending.UNWANTED:
            what = f"was interrupted and killed after {PATIENCE:.0f} s"
            raise call.problem(what, call.format_output(heard))
        case Ending.EXITED if heard.code:
            asked = "was interrupted and " if heard.was_asked else ""
            raise call.problem(asked + _describe_exit(heard.code), call.format_output(heard))
        case _:
            return heard


def _describe_exit(code: int) -> str:
    return f"was terminated by signal {-code}" if code < 0 else f"exited with code {code}"


@contextmanager
def _write_documents(documents: Mapping[str, str], folder: Path | None) -> Iterator[dict[str, str]]:
    """Provide the documents as variables, and as temporary files if they are too long.

    They contain variable values, so an interrupted run must leave no file behind.
    """
    large = {name: text for name, text in documents.items() if _is_long(name, text)}
    small = {name: text for name, text in documents.items() if name not in large}
    with ExitStack() as files:
        for name, text in large.items():
            small[f"{name}_FILE"] = str(files.enter_context(_write_document(name, text, folder)))
        yield small


@contextmanager
def _write_document(name: str, text: str, folder: Path | None) -> Iterator[Path]:
    with create_memory_file(name, text.encode()) as fd:
        if fd is not None:
            yield build_shown_path(fd)
            return
        with create_owned_folder(folder or Path(tempfile.gettempdir(), "fabric-payloads")) as made:
            write_atomic(made / f"{name}.json", text.encode(), mode=0o600)
            yield made / f"{name}.json"


def _is_long(name: str, text: str) -> bool:
    return len(name) + len(text.encode()) + 2 > LONGEST_VARIABLE
