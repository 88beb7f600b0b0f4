"""The server as tests meet it: a namespace of their own, its calls, its faults, what is left."""

import uuid
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

from tests.support.servers.edge1.client import Met
from tests.support.servers.host2.client import met_at
from tests.support.servers.whisk.front import WhiskFront
from tests.support.servers.whisk.invoking import activated
from tests.support.servers.whisk.namespaces import Namespace, pairs_of


class WhiskServer:
    """`is_hidden` where the namespace has to be asked for, as at cloud5."""

    def __init__(self, front: WhiskFront, *, is_hidden: bool = False) -> None:
        ident = uuid.uuid4().hex[:12]
        # Names of people and teams are namespaces, too.
        name = f"fn-{ident}" if is_hidden else f"team {ident}@test"
        self.front = front
        self.is_hidden = is_hidden
        self.space = Namespace(name, f"{uuid.uuid4()}:{uuid.uuid4().hex * 2}", f"tok-{ident}")
        front.spaces[name] = self.space

    def beside(self) -> "WhiskServer":
        return WhiskServer(self.front, is_hidden=self.is_hidden)

    @property
    def environment(self) -> dict[str, str]:
        """For command lines."""
        if self.is_hidden:
            return {
                "CLOUD5_API_BASE_URL": self.front.endpoint,
                "CLOUD5_ACCESS_TOKEN": self.space.token,
                "CLOUD5_NAMESPACE": self.space.name,
            }
        return {
            "CLOUD6_API_HOST": self.front.endpoint,
            "CLOUD6_API_KEY": self.space.key,
            "CLOUD6_NAMESPACE": self.space.name,
            "CLOUD6_REGION": "local",
        }

    def url(self, package: str, function: str) -> str:
        space = quote(self.space.name, safe="")
        return f"{self.front.endpoint}/api/v1/web/{space}/{package}/{function}"

    def calls(self) -> list[tuple[str, str, int]]:
        """Each in its turn: method, path, and the status that it was answered with; 0 is none."""
        return [(method, path, status) for method, path, status in self.space.calls]

    def changes(self) -> int:
        return sum(1 for method, _, _ in self.calls() if method != "GET")

    def requests(self, method: str, kind: str) -> list[dict[str, Any]]:
        """How entities of a kind were asked for since the last reset."""
        found = self.space.requests
        return [one for one in found if (one["method"], one["kind"]) == (method, kind)]

    def reset(self) -> None:
        """Forgets calls and faults; what was made stays."""
        self.space.calls.clear()
        self.space.requests.clear()
        self.space.faults.clear()

    def fault(self, path: str = "", **plan: Any) -> None:
        """`path` is a pattern; skip, times, method, `changing` (no look); status, message,
        headers; without a status the connection is closed. `after`: the call is carried out and
        its answer lost; `half`: cut in the middle."""
        self.space.faults.append({"path": path, **plan})

    def fire(self) -> list[bool]:
        """The time of every clock comes now: whether each ended well."""
        space, found = self.space, []
        for name, row in space.alarms.items():
            rules = [one for one in space.rules.values() if one["trigger"].endswith(f"/{name}")]
            begin = f"/{space.name}/"
            found += [(one["action"].removeprefix(begin), row["payload"]) for one in rules]
        for row in space.schedules.values():
            found.append((row["function"], row["scheduled_details"]["body"]))
        ended = [activated(self.front.children, space, *one) for one in found]
        return [bool(one["response"]["success"]) for one in ended]

    def invoked(self, name: str, given: dict[str, Any]) -> dict[str, Any]:
        """What an action answers."""
        ended = activated(self.front.children, self.space, name, given)
        result: dict[str, Any] = ended["response"]["result"]
        return result

    def schedules(self) -> list[str]:
        alarms = [one["cron"] for one in self.space.alarms.values()]
        own = [one["scheduled_details"]["cron"] for one in self.space.schedules.values()]
        return sorted((*alarms, *own))

    def versions(self, function: str) -> list[str]:
        """The names of the actions that are one each."""
        rows = self.space.actions.items()
        own = [name for name, row in rows if row["exec"]["kind"] != "sequence"]
        return [name for name in own if name.rpartition("/")[2].startswith(f"{function}--")]

    def log(self, function: str) -> str:
        return "\n".join(self.space.lines.get(function, ()))

    def left(self) -> dict[str, Any]:
        """All that a deployer could have left behind, by kind: what is met, and by whom."""
        space = self.space
        met = {
            name: row for name, row in space.actions.items() if row["exec"]["kind"] == "sequence"
        }
        web = [name for name, row in met.items() if pairs_of(row["annotations"])["web-export"]]
        functions = {name.partition("--")[0] for name in space.actions}
        found: dict[str, Any] = {
            "packages": sorted(space.packages),
            "functions": sorted(functions),
            "met": sorted(met),
            "web": sorted(web),
            "triggers": sorted(space.triggers),
            "rules": sorted(space.rules),
            "clocks": sorted((*space.alarms, *space.schedules)),
        }
        return {kind: names for kind, names in found.items() if names}

    def forget(self) -> None:
        self.front.spaces.pop(self.space.name, None)

    def http(
        self,
        method: str,
        url: str,
        body: bytes | Iterator[bytes] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Met:
        return met_at(method, url, body, headers)
