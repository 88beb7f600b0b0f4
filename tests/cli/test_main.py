"""The frame around all commands: failures and their exit codes, suggestions, help."""

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from fabric.cli.commands_table import COMPOSE, GENERATE, ROOT
from tests.support.in_process import compose, project

COMMANDS = (
    *((row.name,) for row in ROOT),
    *(("compose", row.name) for row in COMPOSE),
    *(("generate", row.name) for row in GENERATE),
    *(("cache", name) for name in ("stats", "verify", "prune")),
    *(("runs", name) for name in ("list", "show")),
)
FAILURES: Mapping[str, tuple[tuple[str, ...], int, str]] = {
    "unknown command": (("biuld",), 64, "usage/unknown-command"),
    "unknown command of a group": (("compose", "biuld"), 64, "usage/unknown-command"),
    "no command": ((), 64, "usage/no-command"),
    "no command of a group": (("compose",), 64, "usage/no-command"),
    "unknown option": (("plan", "--stag", "x"), 64, "usage/unknown-option"),
    "value out of the list": (("plan", "--color", "blue"), 64, "usage/bad-value"),
    "missing argument": (("explain",), 64, "usage/bad-value"),
    "one argument too many": (("build", "hello"), 64, "usage/bad-value"),
    "bad stage": (("plan", "--stage", "-x/y"), 64, "usage/bad-stage"),
    "no tasks at once": (("build", "--concurrency", "0"), 64, "usage/bad-concurrency"),
    "fewer than no tasks": (("build", "--concurrency", "-3"), 64, "usage/bad-concurrency"),
    "words for a number": (("build", "--concurrency", "many"), 64, "usage/bad-concurrency"),
    "unknown function": (("build", "--function", "oen"), 64, "usage/unknown-function"),
    "unknown task": (("explain", "build:shop/oen"), 64, "usage/unknown-task"),
    "unknown run": (("runs", "show", "yesterday"), 64, "usage/unknown-run"),
    "bad size": (("cache", "prune", "--max-size", "big"), 64, "usage/bad-value"),
    "bad age": (("cache", "prune", "--max-age", "old"), 64, "usage/bad-value"),
    "unknown provider": (("plan", "--provider", "cloud1-lamda"), 64, "usage/unknown-provider"),
    "no config": (("build", "-c", "nowhere.yml"), 65, "config/not-found"),
    "no compose file": (("compose", "plan"), 65, "compose/not-found"),
    "events into nowhere": (("build", "--events", "no/such/folder"), 73, "disk/cannot-write"),
    "profile into nowhere": (("build", "--profile", "fabric.yml/x"), 73, "disk/cannot-write"),
    "unknown topic": (("help", "exits"), 64, "usage/unknown-topic"),
    "unknown shell": (("completion", "tcsh"), 64, "usage/bad-value"),
}


@pytest.mark.parametrize("name", FAILURES)
def test_every_failure_is_one_document_with_a_code_and_the_right_exit(
    name: str, tmp_path: Path
) -> None:
    words, code, problem = FAILURES[name]
    done = project(tmp_path).json(*words)
    assert (done.code, done.error["code"]) == (code, problem)
    assert done.document["formatVersion"] == 1
    assert done.document["command"].split()[0] == (words or ("fabric",))[0]
    assert done.error["message"]
    assert done.error["problems"][0]["code"] == problem
    assert "Traceback" not in done.err


@pytest.mark.parametrize("name", FAILURES)
def test_failures_are_printed_to_stderr_only(name: str, tmp_path: Path) -> None:
    words, code, _ = FAILURES[name]
    done = project(tmp_path).fabric(*words)
    assert (done.code, done.out) == (code, "")
    assert done.err
    assert "Traceback" not in done.err


TASKS_AT_ONCE = ("0", "-1", "abc", "0%")


@pytest.mark.parametrize("said", TASKS_AT_ONCE)
def test_invalid_concurrency_is_an_error_even_if_nothing_runs(said: str, tmp_path: Path) -> None:
    made = compose(tmp_path, a=())
    assert made.fabric("compose", "deploy").code == 0
    for words, cwd in ((("compose", "deploy"), ""), (("deploy",), "a"), (("remove", "-y"), "a")):
        done = made.json(*words, "--concurrency", said, cwd=cwd)
        assert (done.code, done.error["code"]) == (64, "usage/bad-concurrency")


GUESSES = {
    "command": (("biuld",), "build"),
    "command of a group": (("compose", "pakage"), "package"),
    "command outside a group": (("compose", "stages"), "fabric stages"),
    "option": (("plan", "--stag", "x"), "--stage"),
    "function": (("build", "--function", "tow"), "two"),
    "task": (("explain", "build:shop/oen"), "build:shop/one"),
    "provider": (("plan", "--provider", "cloud1-lamda"), "cloud1-lambda"),
}


@pytest.mark.parametrize("name", GUESSES)
def test_a_slip_of_the_finger_gets_one_suggestion(name: str, tmp_path: Path) -> None:
    words, meant = GUESSES[name]
    done = project(tmp_path).json(*words)
    assert f"did you mean `{meant}`" in done.error["hint"]
    assert "did you mean" not in done.error["message"].lower()


CONFIG_SLIPS = {
    "top-level key": ("functions:", "fucntions:", "functions"),
    "key of the provider": ("runtime:", "runtme:", "runtime"),
    "key of a function": ("entry: src/one", "entyr: src/one", "entry"),
    "provider": ("cloud1-lambda", "cloud1-lamda", "cloud1-lambda"),
}


@pytest.mark.parametrize("name", CONFIG_SLIPS)
def test_a_slip_in_the_config_gets_its_place_and_a_suggestion(name: str, tmp_path: Path) -> None:
    right, wrong, meant = CONFIG_SLIPS[name]
    made = project(tmp_path)
    config = (made.root / "fabric.yml").read_text().replace(right, wrong, 1)
    made.write({"fabric.yml": config})
    done = made.json("plan")
    assert done.code == 65
    found = next(one for one in done.error["problems"] if f"`{meant}`" in one["hint"])
    assert found["where"]["file"].endswith("fabric.yml")
    line = config.splitlines()[found["where"]["line"] - 1]
    assert wrong.partition(":")[0] in line[found["where"]["column"] - 1 :]


def test_an_unknown_service_gets_a_suggestion(tmp_path: Path) -> None:
    done = compose(tmp_path, orders=(), users=()).json("compose", "plan", "--service", "odrers")
    assert (done.code, done.error["code"]) == (64, "usage/unknown-service")
    assert "`orders`" in done.error["hint"]


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_command_has_a_help_with_two_examples(words: tuple[str, ...], tmp_path: Path) -> None:
    done = project(tmp_path).fabric(*words, "--help")
    assert done.code == 0
    assert not done.err
    examples = done.out.partition("Examples:\n")[2].splitlines()
    assert sum(f"fabric {' '.join(words)}" in line for line in examples) >= 2


@pytest.mark.parametrize(
    ("group", "rows"), [((), ROOT), (("compose",), COMPOSE), (("generate",), GENERATE)]
)
def test_help_lists_every_command(
    group: tuple[str, ...], rows: tuple[object, ...], tmp_path: Path
) -> None:
    out = project(tmp_path).fabric(*group, "--help").out
    assert all(re.search(rf"^  {row.name} +\S", out, re.MULTILINE) for row in rows)  # type: ignore[attr-defined]


def test_missing_option_value_is_reported_as_json_too(tmp_path: Path) -> None:
    done = project(tmp_path).fabric("plan", "--json", "--stage")
    assert (done.code, done.error["code"]) == (64, "usage/bad-value")
    assert "--stage" in done.error["message"]


def test_json_may_stand_before_the_command(tmp_path: Path) -> None:
    assert project(tmp_path).fabric("--json", "cache", "stats").result["blobs"] == 0


def test_help_explains_every_exit_code_and_variable(tmp_path: Path) -> None:
    made = project(tmp_path)
    codes = made.fabric("help", "exit-codes").out
    numbers = "0 1 2 3 64 65 69 73 75 77 130".split()
    assert re.findall(r"^ +(\d+)  ", codes, re.MULTILINE) == numbers
    variables = made.fabric("help", "environment").out
    assert "FABRIC_STAGE" in variables
    assert "NO_COLOR" in variables


def test_version_is_printed_as_text_and_json(tmp_path: Path) -> None:
    made = project(tmp_path)
    version = made.json("--version").result["version"]
    assert made.fabric("--version").out == f"fabric {version}\n"
    assert made.fabric("--json", "--version").result["version"] == version
