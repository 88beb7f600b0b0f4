"""Both streams: one document on stdout, talk on stderr, colour only where it is wanted."""

from pathlib import Path

import pytest

from tests.support.in_process import project
from tests.support.project import Project

ESCAPE = "\x1b["
GROUPS = ("compose", "cache", "runs")

SUCCESSES = (
    ("plan",),
    ("plan", "--for", "build"),
    ("build",),
    ("package",),
    ("compose", "plan"),
    ("compose", "build"),
    ("compose", "package"),
    ("compose", "list"),
    ("explain", "build:shop/one"),
    ("runs", "list"),
    ("runs", "show"),
    ("cache", "stats"),
    ("cache", "verify"),
    ("cache", "prune"),
    ("help",),
    ("help", "exit-codes"),
    ("completion", "fish"),
)


def everything(tmp_path: Path) -> Project:
    """A project in which every command has something to say."""
    made = project(tmp_path)
    made.write({"fabric.compose.yml": "services: [{name: shop, config: ./fabric.yml}]\n"})
    assert made.fabric("build", "--function", "two").code == 0
    return made


def test_every_command_answers_with_plain_text_and_with_one_document(tmp_path: Path) -> None:
    made = everything(tmp_path)
    for words in SUCCESSES:
        text = made.fabric(*words)
        assert (text.code, bool(text.out)) == (0, True), (words, text)
        assert not text.out.startswith("{"), words
        assert ESCAPE not in text.out + text.err, words
        document = made.json(*words)
        assert document.result is not None, words
        assert document.document["command"] == " ".join(words[: 1 + (words[0] in GROUPS)])


COLOURS = {
    "always": (("--color", "always"), {}, True),
    "always beats NO_COLOR": (("--color", "always"), {"NO_COLOR": "1"}, True),
    "FORCE_COLOR": ((), {"FORCE_COLOR": "1"}, True),
    "FORCE_COLOR of 0": ((), {"FORCE_COLOR": "0"}, False),
    "never beats FORCE_COLOR": (("--color", "never"), {"FORCE_COLOR": "1"}, False),
    "NO_COLOR": ((), {"NO_COLOR": "1"}, False),
}


@pytest.mark.parametrize("name", COLOURS)
def test_colour_is_by_flag_then_environment(name: str, tmp_path: Path) -> None:
    flags, env, wanted = COLOURS[name]
    made = project(tmp_path)
    assert (ESCAPE in made.fabric("plan", *flags, env=env).out) is wanted
    failed = made.fabric("build", "--function", "tow", *flags, env=env)
    assert (ESCAPE in failed.err) is wanted


def test_json_is_never_coloured(tmp_path: Path) -> None:
    made = project(tmp_path)
    done = made.json("plan", "--color", "always", env={"FORCE_COLOR": "1"})
    assert ESCAPE not in done.out
    assert done.result


# GitHub.


def test_a_failure_on_github_is_annotated_at_its_place(tmp_path: Path) -> None:
    made = project(tmp_path)
    made.write({"fabric.yml": "service: shop\nprovidr: {}\n"})
    done = made.fabric("plan", env={"GITHUB_ACTIONS": "true", "CI": "true"})
    notes = [line for line in done.err.splitlines() if line.startswith("::error ")]
    assert notes
    assert any("line=2,col=1,title=config/unknown-key::" in note for note in notes)
    assert done.out == ""


def test_a_run_on_github_is_a_group(tmp_path: Path) -> None:
    done = project(tmp_path).fabric("build", env={"GITHUB_ACTIONS": "true", "CI": "true"})
    lines = done.err.splitlines()
    assert lines[0] == "::group::fabric build"
    assert lines.count("::endgroup::") == 1
    assert "::" not in done.out


def test_without_github_there_are_no_annotations_or_groups(tmp_path: Path) -> None:
    made = project(tmp_path)
    assert "::" not in made.fabric("build", env={"CI": "true"}).err
    made.write({"fabric.yml": "service: shop\nprovidr: {}\n"})
    assert "::" not in made.fabric("plan", env={"CI": "true"}).err


def test_each_task_prints_a_start_and_an_end_line(tmp_path: Path) -> None:
    lines = project(tmp_path).fabric("build").err.splitlines()
    for task in ("build:shop/one", "build:shop/two"):
        assert sum(line.startswith(f"> {task} ") for line in lines) == 1
        assert sum(line.startswith(f"✓ {task} ") for line in lines) == 1


def test_warnings_do_not_reach_stdout(tmp_path: Path) -> None:
    made = project(tmp_path)
    config = (made.root / "fabric.yml").read_text() + "org: acme\n"
    made.write({"fabric.yml": config})
    done = made.fabric("plan")
    assert done.code == 0
    assert "warning[" in done.err
    assert "warning[" not in done.out
    assert made.json("plan").result["services"][0]["warnings"]


def test_full_events_file_is_reported_after_the_run(tmp_path: Path) -> None:
    made = project(tmp_path)
    done = made.json("deploy", "--events", "/dev/full")
    assert (done.code, done.error["code"]) == (73, "disk/full")
    assert made.fabric("plan", "--detailed-exitcode").code == 0
