"""Commands of a config: run in the service directory, with recorded inputs and collected outputs.

The environment is that of `build.command`. The outputs stay where the command writes them.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from fabric.model.problems import FabricError, Problem
from fabric.model.task import Pairs
from fabric.model.task_inputs import BeforeInputs, HookInputs
from fabric.runtimes.commands.command import (
    LOCALE,
    collect_files,
    format_identity,
    select_inherited,
    select_network_settings,
)
from fabric.runtimes.commands.command_inputs import (
    hash_files,
    list_named_files,
    place_pattern,
    record_locks,
    record_patterns,
    record_service,
)
from fabric.runtimes.commands.config_commands import (
    CommandOutput,
    ConfigCommand,
    Show,
    run_config_command,
    show_output,
)
from fabric.runtimes.contract import Built, BuiltFile, InputTrace
from fabric.runtimes.include import read_ignore_rules
from fabric.runtimes.recorded_inputs import merge, place
from fabric.system.files.owned_folder import create_temporary_folder
from fabric.system.git.git import open_quiet_git

_NAMED = 3
# The event of a command that writes a layer, beside those of steps.
LAYER_EVENT = "layer"


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
    show: Show = show_output,
) -> CommandOutput:
    """Run the command and return its output. Raises if it fails or exceeds its timeout."""
    return run_config_command(_describe(inputs, show), root, {**env, "TMPDIR": str(temporary)})


def _describe(inputs: BeforeInputs | HookInputs, show: Show = show_output) -> ConfigCommand:
    kind = "layer" if inputs.event == LAYER_EVENT else "step"
    return ConfigCommand(
        failed=Problem(
            "step/failed",
            f"{kind} `{inputs.name}` of `{inputs.service}`",
            hint=f"check the command: it runs in the directory of `{inputs.service}`",
        ),
        command=inputs.command,
        timeout_hint=f"set `timeout` of the {kind}, in seconds",
        timeout=inputs.timeout,
        show=show,
    )


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
    return {
        **dict(select_inherited(parent)),
        **select_network_settings(parent),
        **LOCALE,
        "FABRIC_SERVICE": inputs.service,
    }


def record_inputs(workspace: Path, inputs: BeforeInputs) -> InputTrace:
    """Record the files that count for a command, without running it."""
    base, root = _locate(workspace, inputs.root)
    if not inputs.inputs:
        ignore = read_ignore_rules(base, root, inputs.ignore)
        return merge(ignore.seen, record_service(base, root, ignore.rules))
    scripts = tuple(list_named_files(root, inputs.command))
    found = record_patterns(base, root, (*inputs.inputs, *scripts), inputs.ignore)
    return merge(record_locks(base, root), found)


def list_unmatched(workspace: Path, inputs: BeforeInputs, seen: InputTrace) -> tuple[str, ...]:
    """List the input patterns that match no file."""
    base, root = _locate(workspace, inputs.root)
    matched = {(one.folder, one.pattern) for one in seen.listings if one.names}
    return tuple(
        pattern
        for pattern in inputs.inputs
        if not pattern.startswith("!") and place_pattern(base, root, pattern) not in matched
    )


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
            raise _describe(inputs).failure(what, hint=hint)
        found.update((one.path, one) for one in files)
    for path in sorted(found):
        full = os.path.join(root, path)
        real = os.path.realpath(full)
        if real != os.path.join(root, path) and not real.startswith(f"{root}/"):
            what = f"wrote `{place(base, full)}` through a link to a path outside the service"
            hint = "replace the link with a directory"
            raise _describe(inputs).failure(what, hint=hint)
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
