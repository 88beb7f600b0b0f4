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
from typing import Any

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
        until(lambda: words in self.text or self.child.poll() is not None, self.text)
        assert words in self.text

    def until_answer(self, path: str, body: bytes) -> None:
        until(lambda: self.get(path).body == body, self.text)

    def type(self, line: str) -> None:
        assert self.child.stdin
        self.child.stdin.write(f"{line}\n")
        self.child.stdin.flush()


@contextlib.contextmanager
def served(project: Project, *words: str) -> Iterator[Served]:
    child = subprocess.Popen(
        [sys.executable, "-m", "fabric", "invoke", "local", "--serve", "--port", "0", *words],
        cwd=project.root,
        env=environment(project.home),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    found = Served(child)
    hearing = threading.Thread(target=_hear, args=(found,))
    hearing.start()
    try:
        until(lambda: "Serving at" in found.text or child.poll() is not None)
        yield found
    finally:
        if child.poll() is None:
            child.kill()
        child.wait()
        hearing.join()
        for stream in (child.stdin, child.stdout, child.stderr):
            if stream:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()


def _hear(found: Served) -> None:
    for line in found.child.stderr or ():
        found.said.append(line)
