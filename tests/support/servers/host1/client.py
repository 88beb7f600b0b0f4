"""The server as tests meet it: a project of their own, its calls, its faults, what is left."""

import json
import shutil
import urllib.error
import urllib.request
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from tests.support.servers.edge1.client import Met
from tests.support.servers.host1.front import Host1Front
from tests.support.servers.host1.projects import HostProject
from tests.support.servers.host1.users import timed


class Host1Server:
    def __init__(self, front: Host1Front) -> None:
        ident = f"prj_{uuid.uuid4().hex[:12]}"
        self.front = front
        self.project = HostProject(ident, f"team_{ident}", f"tok-{ident}", front.endpoint)
        self.domain(f"{self.project.name}.vercel.app".replace("_", "-"))
        front.projects[ident] = self.project

    @property
    def environment(self) -> dict[str, str]:
        """For command lines."""
        return {
            "HOST1_API_BASE_URL": self.front.endpoint,
            "HOST1_SITES_URL": f"{self.front.endpoint}/met/{{domain}}",
            "HOST1_TOKEN": self.project.token,
            "HOST1_PROJECT_ID": self.project.id,
            "HOST1_ORG_ID": self.project.team,
        }

    def domain(self, name: str, **more: Any) -> None:
        """One more of the project."""
        self.project.domains.append({"name": name, **more})

    def calls(self) -> list[tuple[str, str, int]]:
        """Each in its turn: method, path, and the status that it was answered with; 0 is none."""
        return [(method, path, status) for method, path, status in self.project.calls]

    def changes(self) -> Counter[str]:
        return Counter(method for method, _, _ in self.calls() if method != "GET")

    def requests(self) -> dict[str, dict[str, Any]]:
        """How each operation was asked for, the first time since the last reset."""
        return {one["operation"]: one for one in reversed(self.project.requests)}

    def reset(self) -> None:
        """Forgets calls and faults; what was made stays."""
        self.project.calls.clear()
        self.project.requests.clear()
        self.project.faults.clear()

    def fault(self, path: str = "", **plan: Any) -> None:
        """`path` is a pattern; skip, times, method, `changing` (no look); status, code, message,
        headers; without a status the connection is closed. `after`: the call is carried out and
        its answer lost; `half`: cut in the middle."""
        self.project.faults.append({"path": path, **plan})

    def slow(self, looks: int) -> None:
        """Deployments are looked at so often before they are ready."""
        self.project.looks = looks

    def failing(self, message: str) -> None:
        """Deployments end with this error."""
        self.project.failure = message

    def fire(self, function: str) -> int:
        """With what status the function's first clock is answered."""
        path = next(path for path in self._crons() if f"/{function}/" in path)
        return timed(self.front.instances, self.project, path).status

    def schedules(self) -> dict[str, list[str]]:
        """Of what users meet, by the functions that they call."""
        found: dict[str, list[str]] = {}
        for path, schedule in self._crons().items():
            found.setdefault(path.split("/")[-2], []).append(schedule)
        return found

    def _crons(self) -> dict[str, str]:
        there = self.project.shown
        rows = self.project.config(there).get("crons", []) if there else []
        return {one["path"]: one["schedule"] for one in rows}

    def lines(self, name: str) -> list[str]:
        log = self.project.log(name)
        return log.read_text(errors="replace").splitlines() if log.is_file() else []

    def deployments(self) -> int:
        return len(self.project.deployments)

    def left(self) -> dict[str, Any]:
        """All that a deployer could have left behind, by kind: what is shown, and whether there
        are any deployments."""
        there = self.project.shown
        rows = self.project.config(there).get("routes", []) if there else []
        found = {
            "deployments": bool(self.deployments()),
            "functions": sorted(there.functions) if there else [],
            "routes": sorted(one["src"] for one in rows if "clock" not in one["src"]),
            "schedules": self.schedules(),
        }
        return {kind: names for kind, names in found.items() if names}

    def forget(self) -> None:
        self.front.projects.pop(self.project.id, None)
        shutil.rmtree(self.project.folder, ignore_errors=True)

    def api(self, method: str, path: str, document: Any = None) -> Any:
        """Somebody else's call."""
        body = None if document is None else json.dumps(document).encode()
        headers = {"Authorization": f"Bearer {self.project.token}"}
        if body:
            headers["Content-Type"] = "application/json"
        mark = "&" if "?" in path else "?"
        url = f"{self.front.endpoint}{path}{mark}teamId={self.project.team}"
        answer = self.http(method, url, body, headers)
        assert answer.status < 300, answer.text
        return answer.json if answer.content else None

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


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        """Answers are told as they are."""


_OPENER = urllib.request.build_opener(_NoRedirect)


def _met(status: int, content: bytes, headers: Any) -> Met:
    named = {name.lower(): ", ".join(headers.get_all(name, ())) for name in headers}
    return Met(status, content, named, tuple(headers.get_all("set-cookie", ())))
