"""A `kubectl` on PATH that asks this process: what answers is a double, or the real tool.

Calls are counted, and may fail before or after they were carried out.
"""

import contextlib
import socketserver
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

# Options of every call stand before its words.
_OPTIONS = 7
_CHANGING = ("apply", "delete")


class ToolAnswer(NamedTuple):
    code: int
    out: str = ""
    err: str = ""


@dataclass
class Fault:
    """Of the calls that begin with `word` the first `skip` go well, and `times` do not. With
    `changing` looks are none of them."""

    word: str
    answer: ToolAnswer
    after: bool = False
    changing: bool = False
    skip: int = 0
    times: int = 1

    def fits(self, words: Sequence[str]) -> bool:
        begin = self.word.split()
        is_kind = not self.changing or words[0] in _CHANGING
        return is_kind and list(words[: len(begin)]) == begin


UNREACHABLE = ToolAnswer(1, err="Unable to connect to the server: EOF\n")
Runs = Callable[[Sequence[str], bytes], ToolAnswer]

# As little as can be: it is started for every call.
_CLIENT = """#!{python} -IS
import socket, sys
own = socket.socket(socket.AF_UNIX)
own.connect({socket!r})
words = sys.argv[1:]
stdin = sys.stdin.buffer.read() if "-" in words else b""
for one in (b"\\0".join(word.encode() for word in words), stdin):
    own.sendall(b"%d\\n%s" % (len(one), one))
with own.makefile("rb") as answer:
    code = int(answer.readline())
    for stream in (sys.stdout, sys.stderr):
        size = int(answer.readline())
        stream.buffer.write(answer.read(size))
        stream.flush()
sys.exit(code)
"""


@dataclass
class ToolDoor:
    """`calls` are the words of each call without its options."""

    folder: Path
    runs: Runs
    calls: list[tuple[str, ...]] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    _guard: threading.Lock = field(default_factory=threading.Lock)

    def answered(self, argv: Sequence[str], stdin: bytes) -> ToolAnswer:
        words = tuple(argv[_OPTIONS:])
        fault = self._fault(words)
        if fault and not fault.after:
            return fault.answer
        answer = self.runs(argv, stdin)
        return fault.answer if fault else answer

    def _fault(self, words: tuple[str, ...]) -> Fault | None:
        with self._guard:
            self.calls.append(words)
            for one in self.faults:
                if one.times and one.fits(words):
                    if one.skip:
                        one.skip -= 1
                        continue
                    one.times -= 1
                    return one
        return None

    @property
    def changing(self) -> list[tuple[str, ...]]:
        return [one for one in self.calls if one[0] in _CHANGING]

    def reset(self) -> None:
        self.calls.clear()
        self.faults.clear()


@contextlib.contextmanager
def tool_door(folder: Path, runs: Runs) -> Iterator[ToolDoor]:
    """`folder / "bin"` has the tool for as long as this lasts."""
    door = ToolDoor(folder, runs)
    place = folder / "s"

    class Asked(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            argv, stdin = (self.rfile.read(int(self.rfile.readline())) for _ in range(2))
            words = argv.decode().split("\0")
            answer = door.answered(words, stdin)
            out, err = answer.out.encode(), answer.err.encode()
            head = b"%d\n%d\n" % (answer.code, len(out))
            self.wfile.write(head + out + b"%d\n" % len(err) + err)

    class Listening(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
        daemon_threads = True
        request_queue_size = 64

    with Listening(str(place), Asked) as server:
        (folder / "bin").mkdir()
        tool = folder / "bin" / "kubectl"
        tool.write_text(_CLIENT.format(python=sys.executable, socket=str(place)))
        tool.chmod(0o755)
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield door
        finally:
            server.shutdown()
