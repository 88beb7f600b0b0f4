"""A page of the guide as somebody follows it: its commands typed, its files written, what it shows
compared with what is said.

`console` blocks are the first terminal and `console second` ones the second; `$ ` stands before
what is typed to the shell, a line `exit` is typed to what runs. `…` is any lines, or the rest of
one. Other blocks that name a file are its text.
"""

import re
import subprocess
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.until import until

_BLOCK = re.compile(r"^```(\w+)(?: ([\w./-]+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_MEASURED = re.compile(r"\d+(?:\.\d+)? m?s\b|\d+(?= (?:MB|calls?)\b)")
# Which version of a language is here is no matter of a page.
_OTHER_VERSION = re.compile(
    r"^.*runs on version .* but its runtime is .*\n(?:  hint: .*\n)?", re.MULTILINE
)
_PROMPT, _LEFT_OUT, _TYPED = "$ ", "…", "exit"
_SECONDS = 60


@dataclass(frozen=True)
class Block:
    """`about` is a file, or which terminal it is; empty for the first one."""

    kind: str
    about: str
    text: str


def blocks(page: str) -> Iterator[Block]:
    return (Block(*(found or "" for found in one.groups())) for one in _BLOCK.finditer(page))


@dataclass
class Terminal:
    """One command at a time; `shown` is what the page shows of what it says.

    Where it `asks`, its commands ask what runs in another one, which may not have heard of the last
    edit yet: somebody who types is slower than that. They are typed again until they are answered.
    """

    cwd: Path
    env: Mapping[str, str]
    asks: bool = False
    command: str = ""
    shown: str = ""
    said: str = ""
    _child: "subprocess.Popen[str] | None" = None
    _hearing: threading.Thread = field(default_factory=threading.Thread)

    def follow(self, text: str) -> None:
        for line in text.splitlines():
            if line.startswith(_PROMPT):
                self.leave()
                self._start(line.removeprefix(_PROMPT))
            elif line == _TYPED:
                self._until_shown()
                self._type(line)
            else:
                self.shown += f"{line}\n"
        self._until_shown()

    def leave(self) -> None:
        """What runs has to come to its end now, with nothing said that the page does not show."""
        if self._child is None:
            return
        code = self._ended(self._child)
        assert code == 0, self.story
        assert re.fullmatch(_pattern(self.shown), _plain(self.said)), self.story

    def kill(self) -> None:
        if self._child is not None:
            self._child.kill()
            self._ended(self._child)

    @property
    def story(self) -> str:
        return f"$ {self.command}\n{self.said}\n--- and the page shows:\n{self.shown}"

    def _ended(self, child: "subprocess.Popen[str]") -> int:
        self._child = None
        code = child.wait(_SECONDS)
        self._hearing.join()
        assert child.stdin
        child.stdin.close()
        return code

    def _start(self, command: str) -> None:
        self.command, self.shown, self.said = command, "", ""
        if command.startswith("cd "):
            self.cwd /= command.removeprefix("cd ")
            return
        child = subprocess.Popen(
            ["sh", "-c", f"exec {command}"],
            cwd=self.cwd,
            env=dict(self.env),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._child = child
        self._hearing = threading.Thread(target=self._hear, args=(child,))
        self._hearing.start()

    def _hear(self, child: "subprocess.Popen[str]") -> None:
        assert child.stdout
        with child.stdout as stream:
            for line in stream:
                self.said += line

    def _type(self, line: str) -> None:
        assert self._child
        assert self._child.stdin
        self._child.stdin.write(f"{line}\n")
        self._child.stdin.flush()

    def _until_shown(self) -> None:
        until(self._is_over_or_shown)
        if self.asks:
            until(self._is_shown_once_more)
        assert re.match(_pattern(self.shown), _plain(self.said)), self.story

    def _is_over_or_shown(self) -> bool:
        return self._child is None or not self._hearing.is_alive() or self._is_shown()

    def _is_shown(self) -> bool:
        return bool(re.match(_pattern(self.shown), _plain(self.said)))

    def _is_shown_once_more(self) -> bool:
        if not self._is_shown():
            shown = self.shown
            self.kill()
            self._start(self.command)
            self.shown = shown
            until(self._is_over_or_shown)
        return self._is_shown()


def _pattern(shown: str) -> str:
    lines = (_line_pattern(line) for line in _plain(shown).splitlines())
    return "".join(lines)


def _line_pattern(line: str) -> str:
    if line == _LEFT_OUT:
        return r"(?:.*\n)*?"
    return re.escape(line).replace(re.escape(_LEFT_OUT), ".*") + r"\n"


def _plain(text: str) -> str:
    """Without what is another figure each time, and with its last line ended."""
    ended = text if text.endswith("\n") or not text else f"{text}\n"
    return _MEASURED.sub("N", _OTHER_VERSION.sub("", ended))
