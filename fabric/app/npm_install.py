"""Run `npm install` in a new project, with a time limit and progress output."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from fabric.model.problems import FabricError, Problem
from fabric.model.secrets.secrecy import redact_credentials
from fabric.runtimes.nodejs.toolchain import find_node, find_npm_command, find_npm_error
from fabric.system.process.bounded_process import Ending, Limits, Overheard, run_bounded
from fabric.system.process.child_protocol import ChildTalk

_SECONDS = 300
# Above a new project may be a workspace of somebody else: npm would install all of it there, and
# run its scripts.
_FLAGS = (
    "--ignore-scripts",
    "--no-workspaces",
    "--no-audit",
    "--no-fund",
    "--fetch-retries=1",
    "--fetch-retry-mintimeout=1000",
)
_LINES = 40


def run_npm_install(
    folder: Path, env: Mapping[str, str], tell: Callable[[str], None], seconds: float = _SECONDS
) -> Problem | None:
    """Run `npm install`. Returns the problem if it failed."""
    hint = f"run `npm install` in `{folder}`, or use --skip-install: all other files exist"
    try:
        argv = [*find_npm_command(env), "install", *_FLAGS, "--prefix", str(folder)]
        path = os.pathsep.join([str(find_node(env).parent), env.get("PATH", "")])
    except FabricError:
        return Problem("init/no-npm", "npm not found, required to install packages", hint)
    tell(f"npm install: running (limit {seconds:.0f} s) ...")
    talk = ChildTalk(hear=lambda line: tell(redact_credentials(line.decode(errors="replace"))))
    limits = Limits(seconds=seconds)
    try:
        heard = run_bounded(argv, cwd=folder, env={**env, "PATH": path}, limits=limits, talk=talk)
    except FabricError as error:
        return Problem("init/install-failed", error.first.message, hint)
    reason = _explain_failure(heard, seconds)
    if reason:
        return Problem("init/install-failed", f"npm install {reason}", hint)
    tell("npm install: done")
    return None


def _explain_failure(heard: Overheard, seconds: float) -> str:
    match heard.ending:
        case Ending.TIMED_OUT:
            return f"timed out after {seconds:.0f} s"
        case Ending.TOO_MUCH:
            return "printed too much output"
        case _ if heard.code == 0:
            return ""
    lines = redact_credentials(heard.stderr.decode(errors="replace")).strip().splitlines()
    said = find_npm_error("\n".join(lines[-_LINES:])) if lines else f"exit code {heard.code}"
    return f"failed: {said}"
