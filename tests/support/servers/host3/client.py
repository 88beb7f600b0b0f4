"""The server as tests meet it: an app of their own, its calls, its faults, what is left."""

import json
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from tests.support.servers.edge1.client import Met
from tests.support.servers.host2.client import met_at
from tests.support.servers.host3.apps import App, Machine
from tests.support.servers.host3.front import Host3Front

# More than any test has.
_CALLS_PER_SECOND = "100000"
# The fields of a schedule, with all their numbers.
_FIELDS = {"minutes": 60, "hours": 24, "days": 31, "months": 12, "weekdays": 7}


class Host3Server:
    def __init__(self, front: Host3Front) -> None:
        name = f"app{uuid.uuid4().hex[:12]}"
        self.front = front
        self.app = App(name=name, token=f"tok-{name}")
        front.apps[name] = self.app

    @property
    def environment(self) -> dict[str, str]:
        """For command lines."""
        return {
            "HOST3_API_BASE_URL": f"{self.front.endpoint}/v1",
            "HOST3_API_TOKEN": self.app.token,
            "HOST3_APP_NAME": self.app.name,
            "HOST3_SITES_URL": f"{self.front.endpoint}/met/{{app}}",
            "HOST3_CALLS_PER_SECOND": _CALLS_PER_SECOND,
        }

    def calls(self) -> list[tuple[str, str, int]]:
        """Each in its turn: method, path, and the status that it was answered with; 0 is none."""
        return [(method, path, status) for method, path, status in self.app.calls]

    def changes(self) -> Counter[str]:
        return Counter(method for method, _, _ in self.calls() if method != "GET")

    def actions(self) -> Counter[str]:
        """How often each action was called, without the names of apps, machines and secrets."""
        return Counter(one["route"].replace("/apps/{app_name}", "") for one in self.app.requests)

    def bodies(self, route: str) -> list[Any]:
        """What was sent to create machines, for example, since the last reset."""
        return [one["body"] for one in self.app.requests if one["route"].endswith(route)]

    def reset(self) -> None:
        """Forgets calls and faults; what was made stays."""
        self.app.calls.clear()
        self.app.requests.clear()
        self.app.faults.clear()

    def fault(self, path: str = "", **plan: Any) -> None:
        """`path` is a pattern; skip, times, method, `changing` (no look); status, message,
        headers; without a status the connection is closed. `after`: the call is carried out and
        its answer lost; `half`: cut in the middle."""
        self.app.faults.append({"path": path, **plan})

    def slow(self, looks: int) -> None:
        """Machines are looked at so often before they are ready."""
        self.app.looks = looks

    def failing(self, message: str) -> None:
        """The processes of machines end at once."""
        self.app.failure = message

    def groups(self) -> dict[str, list[Machine]]:
        """The machines of each version."""
        found: dict[str, list[Machine]] = {}
        for one in self.app.there:
            found.setdefault(one.metadata.get("fabric_mark", ""), []).append(one)
        return found

    @property
    def open_machines(self) -> list[Machine]:
        return [one for one in self.app.there if not one.is_cordoned and one.is_serving]

    @property
    def clocks(self) -> list[Machine]:
        """The machines that run and serve nobody: they call functions at their schedules."""
        found = [one for one in self.app.there if "FABRIC_CLOCK" in one.config.get("env", {})]
        return [one for one in found if one.state in ("starting", "started")]

    def schedules(self) -> dict[str, str]:
        """Of the running clocks, by function, as cron fields."""
        return {
            row["said"]["functionName"]: " ".join(
                "*" if len(row[name]) == count else ",".join(map(str, row[name]))
                for name, count in _FIELDS.items()
            )
            for one in self.clocks
            for row in json.loads(one.config["env"]["FABRIC_CLOCK"])
        }

    def left(self) -> dict[str, Any]:
        """All that a deployer could have left behind, by kind: of the open version, and whether
        there is any other."""
        said = [json.loads(one.config["env"]["FABRIC_SAID"]) for one in self.open_machines]
        functions = {one["functionName"]: one for each in said for one in each["functions"]}
        routes = [
            f"{row['method']} {row['path']}" for one in functions.values() for row in one["routes"]
        ]
        found = {
            "machines": bool(self.app.there),
            "functions": sorted(functions),
            "routes": sorted(routes),
            "schedules": self.schedules(),
            "secrets": bool(self.app.secrets),
            "addresses": sorted(self.app.addresses),
            "certificates": sorted(self.app.certificates),
        }
        return {kind: names for kind, names in found.items() if names}

    def forget(self) -> None:
        self.front.apps.pop(self.app.name, None)

    def api(self, method: str, path: str, document: Any = None) -> Any:
        """Somebody else's call."""
        body = None if document is None else json.dumps(document).encode()
        headers = {"Authorization": f"Bearer {self.app.token}"}
        url = f"{self.front.endpoint}/v1/apps/{self.app.name}{path}"
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
        return met_at(method, url, body, headers)
