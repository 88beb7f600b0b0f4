"""Completion as a shell asks for it."""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support.project import Project, environment, project

COMPLETIONS: Mapping[str, tuple[str, int, str]] = {
    "a command": ("fabric pl", 1, "plan"),
    "a command of a group": ("fabric compose pa", 2, "package"),
    "an option": ("fabric build --no-c", 2, "--no-cache"),
    "a value": ("fabric plan --color al", 3, "always"),
    "a shell": ("fabric completion fi", 2, "fish"),
}


@pytest.mark.parametrize("name", COMPLETIONS)
def test_a_shell_really_gets_its_completions(name: str, tmp_path: Path) -> None:
    words, number, meant = COMPLETIONS[name]
    made = project(tmp_path)
    done = _completed(made, words, number, {"_FABRIC_COMPLETE": "bash_complete"})
    assert f"plain,{meant}" in done.splitlines()


def _completed(made: Project, words: str, number: int, env: Mapping[str, str]) -> str:
    asked = {**env, "COMP_WORDS": words, "COMP_CWORD": str(number)}
    return made.fabric(env=asked).out


def test_completion_works_in_a_real_bash(tmp_path: Path) -> None:
    made = project(tmp_path)
    script = made.fabric("completion", "bash").out
    tools = tmp_path / "bin"
    tools.mkdir()
    program = tools / "fabric"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m fabric "$@"\n')
    program.chmod(0o755)
    asked = (
        f"{script}\nCOMP_WORDS=(fabric pac); COMP_CWORD=1; _fabric_completion fabric pac fabric\n"
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    env = environment(made.home)
    env["PATH"] = f"{tools}:{env['PATH']}"
    done = subprocess.run(
        ["bash", "-c", asked], env=env, capture_output=True, text=True, check=False
    )
    assert done.stdout == "package\n", done.stderr
