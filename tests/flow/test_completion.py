"""Completion as a shell asks for it."""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support.project import Project, compose, environment, project, service

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
        f"{script}\nCOMP_LINE='fabric pac'; COMP_POINT=10; _fabric_completion fabric pac fabric\n"
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    env = environment(made.home)
    env["PATH"] = f"{tools}:{env['PATH']}"
    done = subprocess.run(
        ["bash", "-c", asked], env=env, capture_output=True, text=True, check=False
    )
    assert done.stdout == "package\n", done.stderr


BEGUN: Mapping[str, tuple[str, int, set[str]]] = {
    "a template": ("fabric init --provider host3-machines --template ", 5, {"http", "cron"}),
    "a provider": (
        "fabric init --template storage --provider c",
        5,
        {"cloud1-lambda", "cloud2-functions", "cloud3-functions", "cloud4-fc"},
    ),
    "a language": ("fabric init --provider edge1-workers --lang ", 5, {"ts", "js"}),
    "a back end": ("fabric init --state-backend s", 3, {"sql"}),
    "after a slip": ("fabric init --template htpp --provider ", 5, set()),
}


@pytest.mark.parametrize("name", BEGUN)
def test_new_project_completion_offers_only_compatible_options(name: str, tmp_path: Path) -> None:
    words, number, meant = BEGUN[name]
    done = _completed(project(tmp_path), words, number, {"_FABRIC_COMPLETE": "bash_complete"})
    assert {line.removeprefix("plain,") for line in done.split()} == meant


NAMED: Mapping[str, tuple[str, int, str]] = {
    "a function": ("fabric build --function o", 3, "one"),
    "a stage": ("fabric deploy --stage pr", 3, "prod"),
    "a label": ("fabric deploy --provider sp", 3, "spare"),
    "a provider": ("fabric deploy --provider edge", 3, "edge1-workers"),
    "a task": ("fabric explain build:shop/t", 2, "build:shop/two"),
    "another config": ("fabric build -c other --function a", 5, "alone"),
}
STAGES = """
stages: {prod: {}, "feature-*": {}}
providerOverrides: {spare: {name: edge1-workers}}
env: {TOKEN: "${env:NOBODY_SET_IT,}"}
"""


@pytest.mark.parametrize("name", NAMED)
def test_names_of_the_project_are_completed(name: str, tmp_path: Path) -> None:
    words, number, meant = NAMED[name]
    made = project(tmp_path)
    made.write(
        {
            "fabric.yml": (made.root / "fabric.yml").read_text() + STAGES,
            "other/fabric.yml": service("other", "alone"),
        }
    )
    done = _completed(made, words, number, {"_FABRIC_COMPLETE": "bash_complete"})
    assert f"plain,{meant}" in done.splitlines()


def test_services_are_completed_and_an_unreadable_project_offers_none(
    tmp_path: Path,
) -> None:
    made = compose(tmp_path, shop=(), site=())
    bash = {"_FABRIC_COMPLETE": "bash_complete"}
    assert _completed(made, "fabric compose plan --service s", 4, bash).split() == [
        "plain,shop",
        "plain,site",
    ]
    made.write({"shop/fabric.yml": "service: [\n"})
    assert _completed(made, "fabric build -c shop --function o", 5, bash).strip() == ""


def test_a_word_with_a_colon_is_completed_in_a_real_bash(tmp_path: Path) -> None:
    made = project(tmp_path)
    program = tmp_path / "bin" / "fabric"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m fabric "$@"\n')
    program.chmod(0o755)
    asked = (
        f"{made.fabric('completion', 'bash').out}\n"
        "COMP_LINE='fabric explain build:shop/o'; COMP_POINT=${#COMP_LINE}\n"
        '_fabric_completion fabric shop/o :\nprintf "%s\\n" "${COMPREPLY[@]}"'
    )
    env = environment(made.home)
    env["PATH"] = f"{program.parent}:{env['PATH']}"
    done = subprocess.run(
        ["bash", "-c", asked],
        env=env, cwd=made.root, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout == "shop/one\n", done.stderr


def shell(folder: Path, program: str, asked: str) -> str:
    """What a real shell says, with both commands where it looks for them."""
    made = project(folder)
    tools = folder / "bin"
    tools.mkdir()
    for name, door in (("fabric", "main"), ("fabricd", "daemon_main")):
        call = f"import sys; from fabric.__main__ import {door}; sys.exit({door}())"
        (tools / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" -c "{call}" "$@"\n')
        (tools / name).chmod(0o755)
    (folder / "script").write_text(made.fabric("completion", program).out)
    env = environment(made.home)
    env["PATH"] = f"{tools}:{env['PATH']}"
    argv = [program, "-c", asked.replace("SCRIPT", str(folder / "script"))]
    done = subprocess.run(argv, env=env, capture_output=True, text=True, check=True)
    return done.stdout


def test_the_daemon_is_completed_in_a_real_bash(tmp_path: Path) -> None:
    asked = """
source SCRIPT
ask() {
    COMP_LINE="$*"; COMP_POINT=${#COMP_LINE}; _fabric_completion "$1" "${@: -1}" ""
    echo "${COMPREPLY[@]}"
}
ask fabricd st; ask fabricd start --work; ask fabric pac
"""
    assert shell(tmp_path, "bash", asked) == "start stop status\n--workspace\npackage\n"


def test_the_daemon_is_completed_in_a_real_fish(tmp_path: Path) -> None:
    asked = "source SCRIPT; complete -C 'fabricd sto'; complete -C 'fabric pac'"
    assert shell(tmp_path, "fish", asked).split()[:2] == ["stop", "package"]


def test_the_daemon_is_completed_in_a_real_zsh(tmp_path: Path) -> None:
    asked = """
compdef() { print -r -- "$@" }
compadd() { print -r -- $plain }
_describe() { print -r -- $described }
source SCRIPT
words=(fabricd sto); CURRENT=2; _fabric_completion
words=(fabric build --no-ca); CURRENT=3; _fabric_completion
"""
    said = shell(tmp_path, "zsh", asked).splitlines()
    assert said[:2] == ["_fabric_completion fabric fabricd", "stop"]
    assert said[2].startswith("--no-cache:")
