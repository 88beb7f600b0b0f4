"""The program of a function's child."""

from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec import Struct

from fabric.model.problems import FabricError, Problem
from fabric.runtimes.calls.function import LocalFunction
from fabric.runtimes.nodejs.node_versions import find_node_of
from fabric.runtimes.python.interpreters import find_interpreter

_RUNTIMES = Path(__file__).parents[1]


class Program(Struct, frozen=True):
    """The command of a child, and the Python version that loads its modules."""

    argv: tuple[str, ...]
    python: str = ""
    # The program is in the archive.
    is_bootstrap: bool = False


def find_program(function: LocalFunction, parent: Mapping[str, str]) -> Program:
    language = next((name for name in _PROGRAMS if function.runtime.startswith(name)), None)
    if language is None:
        is_managed = function.runtime.startswith(("java", "dotnet", "ruby"))
        raise FabricError(
            Problem(
                "invoke/unknown-runtime",
                f"function `{function.name}`: runtime `{function.runtime}` cannot run locally",
                "invoke the deployed function, or build a `bootstrap` for `provided.al2023`"
                if is_managed
                else "",
            )
        )
    return _PROGRAMS[language](function.runtime, parent)


def _find_node_program(runtime: str, parent: Mapping[str, str]) -> Program:
    return Program((str(find_node_of(runtime, parent)), str(_RUNTIMES / "nodejs/harness.mjs")))


def _find_python_program(runtime: str, parent: Mapping[str, str]) -> Program:
    found = find_interpreter(runtime, parent)
    argv = (found.program, *found.flags, str(_RUNTIMES / "python" / "harness.py"))
    return Program(argv, found.version)


def _find_bootstrap(_runtime: str, _parent: Mapping[str, str]) -> Program:
    return Program((), is_bootstrap=True)


_PROGRAMS: dict[str, Callable[[str, Mapping[str, str]], Program]] = {
    "nodejs": _find_node_program,
    "python": _find_python_program,
    "provided": _find_bootstrap,
}
