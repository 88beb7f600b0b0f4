"""The server as tests meet it: an account of their own, its calls, its faults, what is left."""

import json
import uuid
from collections.abc import Iterator, Mapping
from typing import Any

from tests.support.servers.cloud4.account import Account, HeldFunction
from tests.support.servers.cloud4.front import Cloud4Front
from tests.support.servers.edge1.client import Met
from tests.support.servers.host2.client import met_at

REGION = "eu-central-1"


class Cloud4Server:
    def __init__(self, front: Cloud4Front) -> None:
        ident = uuid.uuid4().hex
        number = str(int(ident[:12], 16))
        self.front = front
        self.account = Account(
            number, f"LTAI{ident[:20]}", uuid.uuid4().hex, REGION, front.endpoint
        )
        front.accounts[self.account.key] = self.account

    @property
    def environment(self) -> dict[str, str]:
        """For command lines."""
        return {
            "CLOUD4_API_BASE_URL": self.front.endpoint,
            "CLOUD4_ACCESS_KEY_ID": self.account.key,
            "CLOUD4_ACCESS_KEY_SECRET": self.account.secret,
            "CLOUD4_REGION": REGION,
            "CLOUD4_ACCOUNT_ID": self.account.ident,
        }

    def function(self, name: str) -> HeldFunction:
        return self.account.functions[name]

    def url(self, name: str) -> str:
        """Where users meet it; somewhere else where nobody does."""
        held = self.account.functions.get(name)
        rows = held.triggers.values() if held else ()
        urls = [one["httpTrigger"]["urlInternet"] for one in rows if "httpTrigger" in one]
        return str(urls[0]) if urls else f"{self.front.endpoint}/met/nobody"

    def calls(self) -> list[tuple[str, str, int]]:
        """Each in its turn: method, path, and the status that it was answered with; 0 is none."""
        return [(method, path, status) for method, path, status in self.account.calls]

    def changes(self) -> int:
        return sum(
            method != "GET" and not path.endswith("/invocations")
            for method, path, _ in self.calls()
        )

    def requests(self, operation: str) -> list[dict[str, Any]]:
        """How an operation was asked for since the last reset."""
        return [one for one in self.account.requests if one["operation"] == operation]

    def reset(self) -> None:
        """Forgets calls and faults; what was made stays."""
        self.account.calls.clear()
        self.account.requests.clear()
        self.account.faults.clear()

    def fault(self, path: str = "", **plan: Any) -> None:
        """`path` is a pattern; skip, times, method, `changing` (no look); status, code, message,
        headers; without a status the connection is closed. `after`: the call is carried out and
        its answer lost; `half`: cut in the middle."""
        self.account.faults.append({"path": path, **plan})

    def fire(self) -> list[bool]:
        """The time of every clock comes now: whether each ended well."""
        ended = []
        for held in self.account.functions.values():
            for name, row in held.triggers.items():
                config = json.loads(row["triggerConfig"])
                if row["triggerType"] != "timer" or not config["enable"]:
                    continue
                said = {"triggerTime": "2026-01-02T03:04:05Z", "triggerName": name}
                event = json.dumps({**said, "payload": config["payload"]}).encode()
                call = self.front.instances.call(self.account, held, row["qualifier"], event)
                ended.append(call.thrown is None)
        return ended

    def schedules(self) -> list[str]:
        rows = [row for held in self.account.functions.values() for row in held.triggers.values()]
        found = [json.loads(one["triggerConfig"]).get("cronExpression") for one in rows]
        return sorted(filter(None, found))

    def versions(self) -> dict[str, int]:
        """How many each function has."""
        return {name: len(held.versions) for name, held in self.account.functions.items()}

    def log(self, name: str) -> str:
        return "\n".join(self.account.lines.get(name, ()))

    def left(self) -> dict[str, Any]:
        """All that a deployer could have left behind, by kind."""
        rows = self.account.functions.items()
        found: dict[str, Any] = {
            "functions": sorted(name for name, _ in rows),
            "aliases": sorted(f"{name}:{one}" for name, held in rows for one in held.aliases),
            "triggers": sorted(f"{name}:{one}" for name, held in rows for one in held.triggers),
            "reserved": sorted(f"{name}:{held.reserved}" for name, held in rows if held.reserved),
        }
        return {kind: names for kind, names in found.items() if names}

    def forget(self) -> None:
        self.front.accounts.pop(self.account.key, None)

    def http(
        self,
        method: str,
        url: str,
        body: bytes | Iterator[bytes] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Met:
        return met_at(method, url, body, headers)
