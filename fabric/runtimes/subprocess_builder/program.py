"""The program of a build process: it answers requests until its input ends.

It writes nothing except its answers.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import IO

from fabric.model.problems import FabricError
from fabric.runtimes.build import Runtimes
from fabric.runtimes.contract import Builder
from fabric.runtimes.subprocess_builder.child import (
    BuildAnswer,
    BuildQuestion,
    encode_message,
    read_message,
)


def serve_builds(
    questions: IO[bytes], answers: IO[bytes], builder_for: Callable[[BuildQuestion], Builder]
) -> None:
    """Answer all requests. The builder can depend on the request."""
    while (asked := read_message(questions, BuildQuestion)) is not None:
        try:
            said = encode_message(_run_build(asked, builder_for(asked)))
        except ValueError:
            said = encode_message(BuildAnswer())
        answers.write(said)
        answers.flush()


def _run_build(asked: BuildQuestion, builder: Builder) -> BuildAnswer:
    workspace = Path(asked.workspace)
    try:
        if asked.toolchain:
            there = _identify_tools(workspace, asked, builder)
            if there != asked.toolchain:
                return BuildAnswer(other_toolchain=there)
        return BuildAnswer(builder.build(workspace, asked.inputs))
    except FabricError as error:
        # Another class says more than its problems do.
        return BuildAnswer(problems=error.problems if type(error) is FabricError else ())
    except Exception:  # noqa: BLE001 - whoever asked meets it by itself, and tells it
        return BuildAnswer()


def _identify_tools(workspace: Path, asked: BuildQuestion, builder: Builder) -> str:
    """Return the identity of the tools. Another machine can have the missing tools."""
    try:
        return builder.toolchain(workspace, asked.inputs).identity
    except FabricError as error:
        if error.first.code != "runtime/tool-missing":
            raise
        return "no tools for it"


if __name__ == "__main__":
    # It builds Python alone: no tools are found or fetched here.
    BUILDER = Runtimes(Path(), {}, install=False)
    serve_builds(sys.stdin.buffer, sys.stdout.buffer, lambda _: BUILDER)
