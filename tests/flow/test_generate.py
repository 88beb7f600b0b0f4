"""`generate` at a terminal: what is missing is asked for, and leaving changes nothing."""

import sys
from pathlib import Path

from tests.support.project import ended, environment, project
from tests.support.pseudo_terminal import CANCEL, DOWN, ENTER, AtTerminal, at_terminal


def asked(one: AtTerminal, title: str, answer: str) -> None:
    one.until(title)
    one.press(answer)
    one.press(ENTER)


def test_a_function_is_made_of_answers(tmp_path: Path) -> None:
    made = project(tmp_path)
    words = [sys.executable, "-m", "fabric", "generate", "function", "--interactive"]
    env = environment(made.home, {"TERM": "xterm", "NO_COLOR": "1"})
    with at_terminal(words, made.root, env) as one:
        asked(one, "? Name", "night")
        one.until("? Trigger")
        one.press(DOWN)
        one.until("> cron")
        one.press(ENTER)
        asked(one, "? Schedule", "")
        one.until("created  src/night.py")
        assert one.ended() == 0
    assert "schedule: rate(5 minutes)" in (made.root / "fabric.yml").read_text()


def test_two_at_once_lose_nothing(tmp_path: Path) -> None:
    made = project(tmp_path)
    words = [("generate", "worker", name, "--queue-name", "q") for name in ("left", "right")]
    children = [made.start(*one) for one in words]
    ends = {one[2]: ended(child) for one, child in zip(words, children, strict=True)}
    text = (made.root / "fabric.yml").read_text()
    for name, done in ends.items():
        is_done = done.code == 0
        assert is_done == (f"name: {name}" in text) == (made.root / f"src/{name}.py").exists()
        assert is_done or "disk/changed" in done.err
    assert 0 in {done.code for done in ends.values()}
    assert made.leftovers() == []


def test_leaving_a_question_changes_nothing(tmp_path: Path) -> None:
    made = project(tmp_path)
    before = made.tree()
    words = [sys.executable, "-m", "fabric", "generate", "worker", "mailer"]
    env = environment(made.home, {"TERM": "xterm", "NO_COLOR": "1"})
    with at_terminal(words, made.root, env) as one:
        one.until("? Queue")
        one.press(CANCEL)
        assert one.ended() == 130
    assert made.tree() == before


def test_no_interactive_option_asks_no_questions(tmp_path: Path) -> None:
    made = project(tmp_path)
    words = [sys.executable, "-m", "fabric", "generate", "worker", "mailer", "--no-interactive"]
    with at_terminal(words, made.root, environment(made.home, {"TERM": "xterm"})) as one:
        one.until("missing option --queue-name")
        assert one.ended() == 64
