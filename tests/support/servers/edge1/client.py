"""The server as tests meet it: an account of their own, its calls, its faults, what is left."""

import contextlib
import json
import urllib.error
import urllib.request
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fabric.runtimes.nodejs.toolchain import find_node
from tests.support import wrangler
from tests.support.bundler_cache import ENVIRONMENT
from tests.support.servers.process import Command, free_port, listens, running

_MAIN = Path(__file__).with_name("main.mjs")


@contextlib.contextmanager
def edge1_server(folder: Path) -> Iterator[str]:
    """Its address."""
    port = free_port()
    argv = [str(find_node(ENVIRONMENT)), str(_MAIN), str(port)]
    modules = {"WRANGLER_MODULES": str(wrangler.installed() / "x.js")}
    with running(Command(argv, folder, modules), lambda: listens(port)):
        yield f"http://127.0.0.1:{port}"


@dataclass(frozen=True)
class Met:
    """What users were answered."""

    status: int
    content: bytes
    headers: Mapping[str, str]
    cookies: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        return self.content.decode()

    @property
    def json(self) -> Any:
        return json.loads(self.content)


@dataclass
class Edge1Server:
    endpoint: str
    account: str = field(default_factory=lambda: f"acc{uuid.uuid4().hex[:12]}")

    @property
    def zone(self) -> str:
        return f"zone-{self.account}"

    @property
    def token(self) -> str:
        return f"tok-{self.account}"

    @property
    def environment(self) -> dict[str, str]:
        """For command lines."""
        return {
            "EDGE1_API_BASE_URL": f"{self.endpoint}/client/v4",
            "EDGE1_WORKERS_URL": f"{self.endpoint}/met/{self.account}/{{worker}}",
            "EDGE1_API_TOKEN": self.token,
            "EDGE1_ACCOUNT_ID": self.account,
        }

    def calls(self) -> list[tuple[str, str, int]]:
        """Each in its turn: method, path, and the status that it was answered with; 0 is none."""
        return [(method, path, status) for method, path, status in self._ask("calls")]

    def changes(self) -> Counter[str]:
        return Counter(method for method, _, _ in self.calls() if method != "GET")

    def reset(self) -> None:
        """Forgets calls, faults and rates; what was made stays."""
        self._ask("reset")

    def fault(self, path: str = "", **plan: Any) -> None:
        """`path` is a pattern; skip, times, method, `changing` (no look); status, code, message,
        headers; without a status the connection is closed. `after`: the call is carried out and
        its answer lost; `half`: cut in the middle."""
        self._ask("fault", {"path": path, **plan})

    def throttle(self, quota: int, left: int, seconds: int) -> None:
        self._ask("throttle", {"quota": quota, "left": left, "seconds": seconds})

    def subdomain(self, name: str) -> None:
        self._ask("subdomain", {"name": name})

    def fire(self, worker: str, cron: str) -> str:
        """How it ended."""
        return str(self._ask("fire", {"worker": worker, "cron": cron})["outcome"])

    def schedules(self, worker: str) -> list[str]:
        return list(self._ask("schedules", {"worker": worker}))

    def bindings(self, worker: str) -> list[dict[str, Any]]:
        """Of its newest version."""
        return list(self._ask("bindings", {"worker": worker}))

    def versions(self) -> dict[str, int]:
        """How many each Worker has."""
        return dict(self._ask("counts"))

    def uploads(self) -> list[dict[str, Any]]:
        """How each form since the last reset was made."""
        return list(self._ask("uploads"))

    def lines(self, worker: str) -> list[str]:
        """What the version that is met has written."""
        return list(self._ask("said", {"worker": worker}))

    def events(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """These are kept besides."""
        self._ask("events", list(rows))

    def tails(self) -> list[str]:
        """The Workers that somebody listens to."""
        return list(self._ask("tails"))

    def drop_tails(self) -> None:
        self._ask("drop")

    def left(self) -> dict[str, list[str]]:
        """All that a deployer could have left behind, by kind."""
        return dict(self._ask("left"))

    def fill(self, bucket: str) -> None:
        """Somebody puts an object into it."""
        self._ask("fill", {"bucket": bucket})

    def forget(self) -> None:
        self._ask("forget")

    def api(self, method: str, path: str, document: Any = None) -> Any:
        """Somebody else's call."""
        body = None if document is None else json.dumps(document).encode()
        headers = {"Authorization": f"Bearer {self.token}"}
        url = f"{self.endpoint}/client/v4{path}"
        return self.http(method, url, body, headers).json["result"]

    def at_host(self, host: str, path: str) -> Met:
        return self.http("GET", f"{self.endpoint}/host/{self.account}/{host}{path}")

    def http(
        self,
        method: str,
        url: str,
        body: bytes | Iterator[bytes] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Met:
        asked = urllib.request.Request(url, body, dict(headers or {}), method=method)  # noqa: S310
        try:
            with _OPENER.open(asked) as answer:  # on this machine
                return _met(answer.status, answer.read(), answer.headers)
        except urllib.error.HTTPError as error:
            with error:
                return _met(error.code, error.read(), error.headers)

    def _ask(self, what: str, given: Any = None) -> Any:
        body = None if given is None else json.dumps(given).encode()
        answer = self.http("POST", f"{self.endpoint}/_server/{what}/{self.account}", body)
        assert answer.status == 200, answer.text
        return answer.json


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        """Answers are told as they are."""


_OPENER = urllib.request.build_opener(_NoRedirect)


def _met(status: int, content: bytes, headers: Any) -> Met:
    named = {name.lower(): ", ".join(headers.get_all(name, ())) for name in headers}
    return Met(status, content, named, tuple(headers.get_all("set-cookie", ())))
