"""Questions at a real terminal."""

import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.project import environment
from tests.support.pseudo_terminal import (
    BACKSPACE,
    CANCEL,
    DOWN,
    ENTER,
    ESCAPE,
    UP,
    AtTerminal,
    at_terminal,
)

ASKER = """
import sys
from fabric.cli.picker.ask import ask_text, is_interactive, pick
from fabric.cli.start import get_command_start
from fabric.model.problems import FabricError
KINDS = ("http", "queue", "cron", "storage", "eventbus", "pubsub")
if not is_interactive(get_command_start().settings):
    sys.exit(64)
try:
    kind = pick("Template", KINDS, "http")
    name = ask_text("Name", "shop", lambda text: "too short" if len(text) < 3 else "")
except FabricError as error:
    sys.exit(int(error.exit_code))
print(f"CHOSEN {kind} {name}.")
"""


@contextmanager
def asker(folder: Path, given: Mapping[str, str] | None = None) -> Iterator[AtTerminal]:
    env = environment(folder, {"TERM": "xterm", "NO_COLOR": "1", **(given or {})})
    with at_terminal([sys.executable, "-c", ASKER], folder, env) as one:
        yield one


@pytest.mark.parametrize(
    ("keys", "seen", "kind"),
    [
        ([DOWN, DOWN, UP], ["> queue", "> cron", "> queue"], "queue"),
        (
            ["q", "u", BACKSPACE, BACKSPACE, "s", ESCAPE, DOWN],
            ["? Template: q", ": qu", ": q", "> http", "> storage", "> http", "> queue"],
            "queue",
        ),
        (["pub"], ["> pubsub"], "pubsub"),
        (["zz", ENTER + ESCAPE, UP], ["no match", "> http", "> pubsub"], "pubsub"),
    ],
    ids=["moving", "editing the filter", "filtering", "enter with no match"],
)
def test_keys_answer_a_question(
    tmp_path: Path, keys: list[str], seen: list[str], kind: str
) -> None:
    with asker(tmp_path) as one:
        one.until("Enter selects")
        for key, text in zip(keys, seen, strict=True):
            one.press(key)
            one.until(text)
        one.press(ENTER)
        one.until(f"✓ Template: {kind}")
        one.until("? Name (shop):")
        one.press(ENTER)
        one.until(f"CHOSEN {kind} shop.")
        assert one.ended() == 0
        assert one.is_cooked()


def test_keys_typed_ahead_are_for_the_next_question(tmp_path: Path) -> None:
    with asker(tmp_path) as one:
        one.until("? Template")
        one.press(DOWN + ENTER + "ab" + ENTER + "c" + ENTER)
        one.until("too short")
        one.until("CHOSEN queue abc.")
        assert one.ended() == 0


def test_cancelling_ends_it_and_the_terminal_is_as_it_was(tmp_path: Path) -> None:
    with asker(tmp_path) as one:
        one.until("Enter selects")
        assert not one.is_cooked()
        one.press(CANCEL)
        assert one.ended() == 130
        assert one.is_cooked()
        assert one.said.endswith("\x1b[?25h")


def test_a_signal_gives_the_terminal_back_as_well(tmp_path: Path) -> None:
    with asker(tmp_path) as one:
        one.until("Enter selects")
        one.interrupt(signal.SIGINT)
        assert one.ended() != 0
        assert one.is_cooked()


def test_resized_window_is_redrawn(tmp_path: Path) -> None:
    with asker(tmp_path) as one:
        one.until("Enter selects")
        one.resize(30, 5)
        one.until("6 total")
        one.press(DOWN + ENTER)
        one.until("✓ Template: queue")


def test_nothing_is_coloured_unless_it_may_be(tmp_path: Path) -> None:
    with asker(tmp_path) as plain:
        plain.until("Enter selects")
        assert "\x1b[36m" not in plain.said
    with asker(tmp_path, {"NO_COLOR": ""}) as coloured:
        coloured.until("Enter selects")
        assert "\x1b[36m> http" in coloured.said


def test_dumb_terminal_does_not_start_the_picker(tmp_path: Path) -> None:
    with asker(tmp_path, {"TERM": "dumb"}) as one:
        assert one.ended() == 64
