"""The interpreter for local calls: the runtime's version if installed.

Compiled packages support one Python version. So `python3.12` on PATH is used, and those of uv and
pyenv; shims are not, because their version is unknown.
"""

import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from fabric.model.problems import Problem

# The harness needs no older one.
_OLDEST = (3, 10)
_VERSION = re.compile(r"python(\d+)\.(\d+)")


class Interpreter(Struct, frozen=True):
    """An interpreter. `wanted` is the runtime's version if `program` has another one."""

    program: str
    flags: tuple[str, ...]
    version: str
    wanted: str = ""


def find_version_problems(
    runtimes: Mapping[str, str], env: Mapping[str, str]
) -> tuple[Problem, ...]:
    """Return warnings for functions, by name, whose local interpreter has another version than the
    runtime."""
    others: dict[tuple[str, str], list[str]] = {}
    for name, runtime in sorted(runtimes.items()):
        if runtime.startswith("python"):
            found = find_interpreter(runtime, env)
            if found.wanted:
                others.setdefault((found.wanted, found.version), []).append(name)
    return tuple(_other_version_problem(*versions, names) for versions, names in others.items())


def _other_version_problem(wanted: str, version: str, names: list[str]) -> Problem:
    listed = ", ".join(f"`{name}`" for name in names)
    return Problem(
        "local/other-python",
        f"{listed}: the runtime is Python {wanted}, but Python {version} runs it locally",
        hint=f"install `python{wanted}` on PATH, for example with: uv python install {wanted}",
    )


def find_interpreter(runtime: str, env: Mapping[str, str]) -> Interpreter:
    """Find the interpreter for `python3.12`; for `python`, or if the version is missing, fabric's
    own."""
    found = _VERSION.match(runtime)
    own = Interpreter(
        sys.executable, _choose_flags(sys.version_info[:2]), _format_version(sys.version_info[:2])
    )
    asked = (int(found[1]), int(found[2])) if found else sys.version_info[:2]
    if asked == sys.version_info[:2]:
        return own
    program = next(_list_programs(_format_version(asked), env), "") if asked >= _OLDEST else ""
    if program:
        return Interpreter(program, _choose_flags(asked), _format_version(asked))
    return Interpreter(own.program, own.flags, own.version, _format_version(asked))


def _choose_flags(version: tuple[int, ...]) -> tuple[str, ...]:
    """Choose flags that hide fabric's and the user's packages: only archive modules are
    available."""
    safe_path = ("-P",) if version >= (3, 11) else ("-I",)
    return ("-u", "-s", "-S", *safe_path)


def _format_version(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))


def _list_programs(version: str, env: Mapping[str, str]) -> Iterator[str]:
    name = f"python{version}"
    folders = env.get("PATH", "").split(os.pathsep)
    real = os.pathsep.join(one for one in folders if one and Path(one).name != "shims")
    if found := shutil.which(name, path=real):
        yield found
    for pattern in _list_managed(version, env):
        base = Path(pattern[0])
        for folder in sorted(base.glob(pattern[1])) if base.is_dir() else ():
            program = folder / "bin" / name
            if os.access(program, os.X_OK):
                yield str(program)


def _list_managed(version: str, env: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the directories where uv and pyenv install interpreters, with their name patterns."""
    home = env.get("HOME", "")
    data = env.get("XDG_DATA_HOME") or (home and f"{home}/.local/share")
    uv = env.get("UV_PYTHON_INSTALL_DIR") or (data and f"{data}/uv/python")
    if uv:
        yield uv, f"cpython-{version}.*"
    pyenv = env.get("PYENV_ROOT") or (home and f"{home}/.pyenv")
    if pyenv:
        yield f"{pyenv}/versions", f"{version}.*"
