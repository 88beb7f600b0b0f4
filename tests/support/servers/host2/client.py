"""The server as tests meet it: a site of their own, its calls, its faults, what is left."""

import json
import urllib.error
import urllib.request
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from tests.support.servers.edge1.client import Met
from tests.support.servers.host2.front import Host2Front
from tests.support.servers.host2.sites import Site
from tests.support.servers.host2.users import timed


class Host2Server:
    def __init__(self, front: Host2Front) -> None:
        ident = f"site{uuid.uuid4().hex[:12]}"
        self.front = front
        self.site = Site(id=ident, base=front.endpoint, token=f"tok-{ident}")
        front.sites[ident] = self.site

    @property
    def environment(self) -> dict[str, str]:
        """For command lines."""
        return {
            "HOST2_API_BASE_URL": f"{self.front.endpoint}/api/v1",
            "HOST2_AUTH_TOKEN": self.site.token,
            "HOST2_SITE_ID": self.site.id,
        }

    def calls(self) -> list[tuple[str, str, int]]:
        """Each in its turn: method, path, and the status that it was answered with; 0 is none."""
        return [(method, path, status) for method, path, status in self.site.calls]

    def changes(self) -> Counter[str]:
        return Counter(method for method, _, _ in self.calls() if method != "GET")

    def requests(self) -> dict[str, dict[str, Any]]:
        """How each operation was asked for, the first time since the last reset."""
        return {one["operation"]: one for one in reversed(self.site.requests)}

    def reset(self) -> None:
        """Forgets calls and faults; what was made stays."""
        self.site.calls.clear()
        self.site.requests.clear()
        self.site.faults.clear()

    def fault(self, path: str = "", **plan: Any) -> None:
        """`path` is a pattern; skip, times, method, `changing` (no look); status, message,
        headers; without a status the connection is closed. `after`: the call is carried out and
        its answer lost; `half`: cut in the middle."""
        self.site.faults.append({"path": path, **plan})

    def slow(self, looks: int) -> None:
        """Deploys are looked at so often before they are ready."""
        self.site.looks = looks

    def failing(self, message: str) -> None:
        """Deploys end with this error."""
        self.site.failure = message

    def fire(self, name: str) -> bool:
        """Whether it ended well."""
        return "ok" in timed(self.front.children, self.site, name)

    def schedules(self) -> dict[str, str]:
        """Of the published deploy."""
        there = self.site.shown_deploy
        rows = there.body.get("function_schedules", []) if there else []
        return {one["name"]: one["cron"] for one in rows}

    def variables(self) -> dict[str, bool]:
        """Of the published deploy; whether each is a secret."""
        there = self.site.shown_deploy
        rows = there.body.get("environment", []) if there else []
        return {one["key"]: one["is_secret"] for one in rows}

    def lines(self, name: str) -> list[str]:
        return list(self.site.lines.get(name, ()))

    def deploys(self) -> int:
        """How many have functions."""
        return sum(1 for one in self.site.deploys.values() if one.functions)

    def left(self) -> dict[str, Any]:
        """All that a deployer could have left behind, by kind: what is shown, and whether there
        are any deploys with functions in them."""
        there = self.site.shown_deploy
        config = there.body.get("functions_config", {}) if there else {}
        routes = [row["expression"] for one in config.values() for row in one.get("routes", [])]
        found = {
            "deploys": bool(self.deploys()),
            "functions": sorted(there.functions) if there else [],
            "routes": sorted(routes),
            "schedules": self.schedules(),
        }
        return {kind: names for kind, names in found.items() if names}

    def forget(self) -> None:
        self.front.sites.pop(self.site.id, None)

    def api(self, method: str, path: str, document: Any = None) -> Any:
        """Somebody else's call."""
        body = None if document is None else json.dumps(document).encode()
        headers = {"Authorization": f"Bearer {self.site.token}"}
        if body:
            headers["Content-Type"] = "application/json"
        answer = self.http(method, f"{self.front.endpoint}/api/v1{path}", body, headers)
        assert answer.status < 300, answer.text
        return answer.json if answer.content else None

    def http(
        self,
        method: str,
        url: str,
        body: bytes | Iterator[bytes] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Met:
        return met_at(method, url, body, headers)


def met_at(
    method: str,
    url: str,
    body: bytes | Iterator[bytes] | None = None,
    headers: Mapping[str, str] | None = None,
) -> Met:
    """What somebody is answered there; no redirect is followed."""
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
