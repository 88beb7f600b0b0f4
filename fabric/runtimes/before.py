"""Commands of a config: run in the service directory, with recorded inputs and collected outputs.

The environment is that of `build.command`. The outputs stay where the command writes them.
"""

import os
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from fabric.model.problems import FabricError, Problem, replace_problems
from fabric.model.secrecy import redact_credentials
from fabric.model.task import Pairs
from fabric.model.task_inputs import BeforeInputs, HookInputs
from fabric.runtimes.command import (
    LOCALE,
    collect_files,
    format_identity,
    hash_files,
    record_below,
    record_locks,
    record_service,
    select_inherited,
)
from fabric.runtimes.contract import Built, BuiltFile, InputTrace
from fabric.runtimes.globs import LINKS_FOLLOWED
from fabric.runtimes.include import read_ignore_rules
from fabric.runtimes.recorded_inputs import merge, place
from fabric.system.git import open_quiet_git
from fabric.system.owned_folder import create_temporary_folder
from fabric.system.process import CannotStartError, run_child

_NAMED = 3
# The event of a command that writes a layer, beside those of steps.
LAYER_EVENT = "layer"
_UP = "../"
_WILD = frozenset("*?[")
# The last lines of each stream, in frames and of cached commands.
_LINES = 20
# In characters, like those of deploy commands.
_LONGEST_LINE = 300

# Turns output into text without secrets.
Show: TypeAlias = Callable[[bytes], str]


def _show_output(raw: bytes) -> str:
    return redact_credentials(raw.decode(errors="replace"))


class StepOutput(Struct, frozen=True):
    """The printed text of a command, without secrets."""

    stdout: str
    stderr: str

    def text(self) -> str:
        return "\n".join(filter(None, (self.stdout, self.stderr)))

    def last_lines(self) -> str:
        """Return the last lines of both streams. Compilers print errors to stdout, and package
        tools print warnings to stderr."""
        return "\n".join(_list_last_lines(self.stdout, self.stderr))


def run_step(
    workspace: Path,
    inputs: BeforeInputs,
    parent: Mapping[str, str],
    given: Sequence[BuiltFile],
    say: Callable[[str], None],
) -> Built:
    """Run the command. Its inputs are the files before the run, with their content at that time.

    `given` are files of builds or packages, for commands after them. The last lines of its output
    are passed to `say`.
    """
    base, root = _locate(workspace, inputs.root)
    seen = record_inputs(workspace, inputs)
    before = hash_files(base, seen.files)
    with create_temporary_folder("step") as folder:
        _write_given(folder / "given", given)
        own = {"FABRIC_INPUT_DIR": str(folder / "given")} if given else {}
        stage = {"FABRIC_STAGE": inputs.stage} if inputs.stage else {}
        env = {**build_step_variables(inputs, parent), **stage, **own}
        say(run_command(inputs, Path(root), folder, env).last_lines())
    files = tuple(_collect_outputs(base, root, inputs))
    return Built(
        files,
        seen,
        _warn_of_tracked(root, inputs, parent),
        toolchain=format_identity(),
        before=before,
    )


def run_command(
    inputs: BeforeInputs | HookInputs,
    root: Path,
    temporary: Path,
    env: Mapping[str, str],
    show: Show = _show_output,
) -> StepOutput:
    """Run the command and return its output. Raises if it fails or exceeds its timeout."""
    try:
        done = run_child(
            inputs.command, cwd=root, env={**env, "TMPDIR": str(temporary)}, timeout=inputs.timeout
        )
    except CannotStartError as error:
        raise replace_problems(error, [_name_step(inputs, error.first, show)]) from error
    except FabricError as error:
        if error.first.code != "process/timeout":
            raise
        what = f"did not end within {inputs.timeout} s"
        hint = f"set `timeout` of the {_format_kind(inputs)}, in seconds"
        raise FabricError(_failure_problem(inputs, what, hint, show=show)) from error
    output = StepOutput(show(done.stdout).strip(), show(done.stderr).strip())
    if done.code:
        what = f"exited with code {done.code}"
        hint = f"check the command: it runs in the directory of `{inputs.service}`"
        raise FabricError(_failure_problem(inputs, what, hint, output.last_lines(), show))
    return output


def _list_last_lines(*streams: str) -> Iterator[str]:
    for lines in map(str.splitlines, streams):
        if len(lines) > _LINES:
            yield f"… {len(lines) - _LINES} earlier lines"
        yield from (
            one if len(one) <= _LONGEST_LINE else f"{one[:_LONGEST_LINE]}…"
            for one in lines[-_LINES:]
        )


def _name_step(inputs: BeforeInputs | HookInputs, problem: Problem, show: Show) -> Problem:
    message = f"{_format_title(inputs)}: {problem.message}"
    return replace(problem, message=show(message.encode(errors="replace")))


def build_hook_variables(
    parent: Mapping[str, str], inputs: HookInputs, given: Pairs
) -> dict[str, str]:
    """Build the environment of a deploy hook: it calls others, so it has the caller's variables."""
    return {
        **parent,
        "FABRIC_SERVICE": inputs.service,
        "FABRIC_STAGE": inputs.stage,
        "FABRIC_PROVIDER": inputs.provider,
        "FABRIC_MODE": inputs.mode,
        **dict(given),
    }


def build_step_variables(inputs: BeforeInputs, parent: Mapping[str, str]) -> dict[str, str]:
    """Build the environment of a cached command."""
    return {**dict(select_inherited(parent)), **LOCALE, "FABRIC_SERVICE": inputs.service}


def _format_title(inputs: BeforeInputs | HookInputs) -> str:
    return f"{_format_kind(inputs)} `{inputs.name}` of `{inputs.service}`"


def _format_kind(inputs: BeforeInputs | HookInputs) -> str:
    return "layer" if inputs.event == LAYER_EVENT else "step"


def _failure_problem(
    inputs: BeforeInputs | HookInputs,
    what: str,
    hint: str,
    frame: str = "",
    show: Show = _show_output,
) -> Problem:
    command = show(shlex.join(inputs.command).encode(errors="replace"))
    message = f"{_format_title(inputs)}: the command `{command}` {what}"
    return Problem("step/failed", message, hint=hint, frame=frame)


def record_inputs(workspace: Path, inputs: BeforeInputs) -> InputTrace:
    """Record the files that count for a command, without running it."""
    base, root = _locate(workspace, inputs.root)
    if not inputs.inputs:
        ignore = read_ignore_rules(base, root, inputs.ignore)
        return merge(ignore.seen, record_service(base, root, ignore.rules))
    excluded = [os.path.normpath(one[1:]) for one in inputs.inputs if one.startswith("!")]
    named = [os.path.normpath(one) for one in inputs.inputs if not one.startswith("!")]
    found = (_record_pattern(base, root, one, excluded, inputs.ignore) for one in named)
    scripts = (
        _record_pattern(base, root, one, excluded, inputs.ignore)
        for one in _list_named_files(root, inputs.command)
    )
    return merge(record_locks(base, root), *found, *scripts)


def _list_named_files(root: str, command: Sequence[str]) -> Iterator[str]:
    """List the files of the service that a word of the command names, such as its script."""
    for word in command:
        path = os.path.normpath(word)
        is_plain = "\0" not in word and not os.path.isabs(word) and not _WILD.intersection(word)
        if is_plain and not path.startswith(_UP) and os.path.isfile(os.path.join(root, path)):
            yield path


def list_unmatched(workspace: Path, inputs: BeforeInputs, seen: InputTrace) -> tuple[str, ...]:
    """List the input patterns that match no file."""
    base, root = _locate(workspace, inputs.root)
    matched = {(one.folder, one.pattern) for one in seen.listings if one.names}
    return tuple(
        pattern
        for pattern in inputs.inputs
        if not pattern.startswith("!") and _place_pattern(base, root, pattern) not in matched
    )


def _place_pattern(base: str, root: str, pattern: str) -> tuple[str, str]:
    folder, _, rest = _split_pattern(root, os.path.normpath(pattern))
    return place(base, folder), rest


def _record_pattern(
    base: str, folder: str, pattern: str, excluded: Sequence[str], outputs: tuple[str, ...]
) -> InputTrace:
    """Record the matches of a pattern, which can be outside the service directory.

    Rules are relative to the directory that is searched.
    """
    folder, up, inner = _split_pattern(folder, pattern)
    rest = [one.removeprefix(up) for one in excluded if one.startswith(up)]
    rules = (f"/{one}" for one in rest if not one.startswith(_UP))
    marked = (LINKS_FOLLOWED, *rules, *(() if up else outputs))
    return record_below(base, folder, inner, marked)


def _split_pattern(folder: str, pattern: str) -> tuple[str, str, str]:
    """Split a pattern into the directory that is searched, the way up to it, and the rest."""
    up = ""
    while pattern.startswith(up + _UP):
        folder, up = os.path.dirname(folder), up + _UP
    return folder, up, pattern.removeprefix(up)


def _locate(workspace: Path, root: str) -> tuple[str, str]:
    base = os.path.realpath(workspace)
    return base, os.path.realpath(os.path.join(base, root))


def _write_given(folder: Path, files: Iterable[BuiltFile]) -> None:
    for one in files:
        path = folder / one.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(one.content)
        if one.executable:
            path.chmod(0o755)


def _collect_outputs(base: str, root: str, inputs: BeforeInputs) -> Iterator[BuiltFile]:
    """Collect the files of all output patterns, each once. Every pattern must match a file."""
    found: dict[str, BuiltFile] = {}
    for pattern in inputs.outputs:
        files = collect_files(root, pattern.removeprefix("./"))
        if not files:
            what = f"wrote no file that matches `{pattern}`"
            hint = "check `outputs`: the patterns are relative to the service directory"
            raise FabricError(_failure_problem(inputs, what, hint))
        found.update((one.path, one) for one in files)
    for path in sorted(found):
        full = os.path.join(root, path)
        real = os.path.realpath(full)
        if real != os.path.join(root, path) and not real.startswith(f"{root}/"):
            what = f"wrote `{place(base, full)}` through a link to a path outside the service"
            hint = "replace the link with a directory"
            raise FabricError(_failure_problem(inputs, what, hint))
        yield found[path]


def _warn_of_tracked(
    root: str, inputs: BeforeInputs, parent: Mapping[str, str]
) -> tuple[Problem, ...]:
    """Warn of outputs in git, because the command overwrites edits and merges."""
    if not inputs.outputs:
        return ()
    try:
        git = open_quiet_git(Path(root), parent)
        patterns = (f":(glob){one.rstrip('/')}" for one in inputs.outputs)
        deeper = (f":(glob){one.rstrip('/')}/**" for one in inputs.outputs)
        found = git.list_paths("ls-files", "-z", "--", *patterns, *deeper)
    except FabricError:
        return ()
    if not found:
        return ()
    more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    message = (
        f"step `{inputs.name}` of `{inputs.service}` writes files that git tracks: "
        f"{', '.join(found[:_NAMED])}{more}"
    )
    hint = "add them to .gitignore and run: git rm --cached FILE; or remove them from `outputs`"
    return (Problem("step/tracked-output", message, hint),)
