"""A local server as a process of its own, talked to over HTTP."""

import contextlib
import http.client
import json
import re
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import IO, Any

from tests.support.project import Project, environment
from tests.support.until import until


@dataclass
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Served:
    """`said` is all that it wrote to stderr so far."""

    child: "subprocess.Popen[str]"
    said: list[str] = field(default_factory=list)
    answered: list[str] = field(default_factory=list)

    @property
    def answers(self) -> str:
        """All that it wrote to stdout so far."""
        return "".join(self.answered)

    def until_answered(self, words: str, times: int = 1) -> None:
        until(lambda: self.answers.count(words) >= times or self.child.poll() is not None)
        assert self.answers.count(words) >= times, self.answers + self.text

    @property
    def text(self) -> str:
        return "".join(self.said)

    @property
    def port(self) -> int:
        found = re.search(r"http://127\.0\.0\.1:(\d+)", self.text)
        assert found, self.text
        return int(found[1])

    def get(self, path: str, **headers: str) -> Answer:
        return self.ask("GET", path, headers=headers)

    def ask(
        self, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> Answer:
        client = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        with contextlib.closing(client):
            client.request(method, path, body or None, dict(headers or {}))
            answer = client.getresponse()
            return Answer(answer.status, dict(answer.headers.items()), answer.read())

    def until_said(self, words: str) -> None:
        until(lambda: words in self.text or self.child.poll() is not None, lambda: self.text)
        assert words in self.text

    def until_answer(self, path: str, body: bytes) -> None:
        until(lambda: self.get(path).body == body, lambda: self.text)

    def type(self, line: str) -> None:
        assert self.child.stdin
        self.child.stdin.write(f"{line}\n")
        self.child.stdin.flush()


@contextlib.contextmanager
def served(project: Project, *words: str) -> Iterator[Served]:
    with running(project, "invoke", "local", "--serve", "--port", "0", *words) as found:
        until(lambda: "Serving at" in found.text or found.child.poll() is not None)
        yield found


@contextlib.contextmanager
def running(
    project: Project, *words: str, env: Mapping[str, str] | None = None
) -> Iterator[Served]:
    """A command that goes on until it is told to end."""
    child = subprocess.Popen(
        [sys.executable, "-m", "fabric", *words],
        cwd=project.root,
        env={**environment(project.home), **(env or {})},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    found = Served(child)
    streams = ((child.stderr, found.said), (child.stdout, found.answered))
    hearing = [threading.Thread(target=_hear, args=pair) for pair in streams]
    for thread in hearing:
        thread.start()
    try:
        yield found
    finally:
        if child.poll() is None:
            child.kill()
        child.wait()
        for thread in hearing:
            thread.join()
        for stream in (child.stdin, child.stdout, child.stderr):
            if stream:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()


def _hear(stream: IO[str], heard: list[str]) -> None:
    for line in stream:  # each as it comes: `extend` would keep them to itself
        heard.append(line)  # noqa: PERF402
