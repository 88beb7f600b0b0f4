"""What a child may do, and how it is brought to an end."""

import sys
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from fabric.system.process.bounded_process import Ending, Limits, Overheard, run_bounded
from fabric.system.process.child_protocol import LONGEST_LINE, ChildTalk, LineWriter

DEAF = """\
import signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("deaf", file=sys.stderr, flush=True)
time.sleep(600)
"""


def run(folder: Path, script: str, talk: ChildTalk) -> Overheard:
    argv = [sys.executable, "-c", script]
    return run_bounded(argv, cwd=folder, env={}, limits=Limits(), talk=talk)


def test_child_that_ignores_termination_is_killed(tmp_path: Path) -> None:
    heard: list[bytes] = []
    talk = ChildTalk(hear=heard.append, is_to_end=lambda: bool(heard), patience=0.2)
    done = run(tmp_path, DEAF, talk)
    assert (done.ending, done.was_asked, done.code) == (Ending.UNWANTED, True, -9)


def test_a_child_reads_all_of_its_input_and_its_end(tmp_path: Path) -> None:
    script = "import sys\nprint(len(sys.stdin.read()))\n"
    assert run(tmp_path, script, ChildTalk(b"x" * 300_000)).stdout == b"300000\n"


def told(chunks: list[bytes], most: int = 1 << 20) -> list[bytes]:
    heard: list[bytes] = []
    teller = LineWriter(heard.append, most)
    for chunk in chunks:
        teller.take(chunk)
    teller.end_line()
    return heard


@given(st.lists(st.binary(max_size=40)))
def test_output_lines_are_reported_whole_regardless_of_chunks(chunks: list[bytes]) -> None:
    assert told(chunks) == told([b"".join(chunks)])


def test_redrawn_line_is_reported_in_its_final_form() -> None:
    assert told([b"10 %\r50 %\r100 %\r\nnext"]) == [b"100 %", b"next"]


def test_overlong_line_is_not_printed() -> None:
    [line] = told([b"x" * LONGEST_LINE, b"secret"])
    assert b"too long" in line


def test_endless_output_is_truncated() -> None:
    lines = told([b"word\n" * 1000], most=10)
    assert lines == [b"word", b"word", b"(and more, which is not shown)"]
