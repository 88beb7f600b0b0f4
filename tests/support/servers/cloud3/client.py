"""The server as tests meet it: a resource group of their own, its calls, its faults, what is
left."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from tests.support.servers.cloud3.front import Cloud3Front
from tests.support.servers.cloud3.groups import Group, Site, Storage
from tests.support.servers.edge1.client import Met
from tests.support.servers.host2.client import met_at


class Cloud3Server:
    def __init__(self, front: Cloud3Front) -> None:
        self.front = front
        self.group = Group()
        front.groups.append(self.group)

    @property
    def environment(self) -> dict[str, str]:
        """For command lines."""
        end = self.front.endpoint
        return {
            "CLOUD3_TENANT_ID": self.group.tenant,
            "CLOUD3_CLIENT_ID": self.group.client,
            "CLOUD3_CLIENT_SECRET": self.group.secret,
            "CLOUD3_SUBSCRIPTION_ID": self.group.subscription,
            "CLOUD3_RESOURCE_GROUP": self.group.name,
            "CLOUD3_MANAGEMENT_URL": f"{end}/arm",
            "CLOUD3_LOGIN_URL": f"{end}/login",
            "CLOUD3_STORAGE_URL": f"{end}/store/{{service}}/{{account}}",
            "CLOUD3_SITES_URL": f"{end}/at/{{host}}",
        }

    @property
    def site(self) -> Site:
        assert self.group.site is not None
        return self.group.site

    @property
    def storage(self) -> Storage:
        return next(iter(self.group.storages.values()))

    def calls(self) -> list[tuple[str, str, int]]:
        """Each in its turn: method, path, and the status that it was answered with; 0 is none."""
        return [(method, path, status) for method, path, status in self.group.calls]

    def changes(self) -> Counter[str]:
        return Counter(method for method, _, _ in self.calls() if method != "GET")

    def actions(self) -> Counter[str]:
        """How often each operation was called; tokens are not among them."""
        return Counter(one["operation"] for one in self.group.requests)

    def bodies(self, operation: str) -> list[Any]:
        """What was sent to an operation since the last reset."""
        return [one["body"] for one in self.group.requests if one["operation"] == operation]

    def reset(self) -> None:
        """Forgets calls and faults; what was made stays."""
        self.group.calls.clear()
        self.group.requests.clear()
        self.group.faults.clear()

    def fault(self, path: str = "", **plan: Any) -> None:
        """`path` is a pattern; skip, times, method, `changing` (no look); status, message,
        headers; without a status the connection is closed. `after`: the call is carried out and
        its answer lost; `half`: cut in the middle."""
        self.group.faults.append({"path": path, **plan})

    def slow(self, looks: int) -> None:
        """Operations and deployments are looked at so often before they are over."""
        self.group.looks = looks

    def failing(self, message: str) -> None:
        """Deployments end with this message."""
        self.group.failure = message

    def packages(self) -> list[str]:
        """The versions that are stored."""
        return sorted(
            name.removesuffix(".zip")
            for storage in self.group.storages.values()
            for blobs in storage.containers.values()
            for name in blobs
            if name.endswith(".zip")
        )

    def left(self) -> dict[str, Any]:
        """All that a deployer could have left behind, by kind: of the published version, and
        whether there is any other."""
        functions = self.group.site.functions() if self.group.site else {}
        triggers = [one for each in functions.values() for one in each["bindings"]]
        settings = self.group.site.settings if self.group.site else {}
        found = {
            "apps": bool(self.group.sites),
            "plans": bool(self.group.plans),
            "storages": bool(self.group.storages),
            "functions": sorted({name.partition("--")[0] for name in functions}),
            "routes": sorted(one["route"] for one in triggers if "route" in one),
            "schedules": sorted(one["schedule"] for one in triggers if "schedule" in one),
            "queues": sorted(one["queueName"] for one in triggers if "queueName" in one),
            "subscriptions": any(one.subscriptions for one in self.group.storages.values()),
            "secrets": any(name.startswith("FABRIC_") for name in settings),
        }
        return {kind: names for kind, names in found.items() if names}

    def schedules(self) -> dict[str, str]:
        """The schedules of the published version, by function of the app."""
        functions = self.group.site.functions() if self.group.site else {}
        return {
            name: trigger["schedule"]
            for name, each in functions.items()
            for trigger in each["bindings"]
            if "schedule" in trigger
        }

    def change_blob(self, container: str, name: str, kind: str = "BlobCreated") -> list[int]:
        """Deliver the event of a changed blob to the functions whose subscriptions match. Returns
        their answers."""
        subject = f"/blobServices/default/containers/{container}/blobs/{name}"
        event = {
            "id": "831e1650-001e-001b-66ab-eeb76e069631",
            "topic": f"/subscriptions/s/storageAccounts/{self.storage.name}",
            "subject": subject,
            "eventType": f"Microsoft.Storage.{kind}",
            "eventTime": "2026-01-02T03:04:05Z",
            "dataVersion": "",
            "metadataVersion": "1",
            "data": {"api": "PutBlob", "eTag": "0x8D4BCC2E4835CD0", "contentLength": 7},
        }
        return [
            self.trigger(
                one["destination"]["properties"]["resourceId"].rpartition("/")[2], json.dumps(event)
            )[0]
            for _, one in sorted(self.storage.subscriptions.items())
            if _matches(one["filter"], event)
        ]

    def trigger(self, function: str, text: str = "") -> tuple[int, str]:
        """Call a function of the published package as its trigger does."""
        return self.front.host_of(self.site).trigger(function, text)

    @property
    def log(self) -> str:
        """What the functions of the published package said."""
        return self.front.host_of(self.site).log

    def forget(self) -> None:
        self.front.groups.remove(self.group)

    def http(
        self,
        method: str,
        url: str,
        body: bytes | Iterator[bytes] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Met:
        return met_at(method, url, body, headers)

    def said(self) -> Any:
        """The settings of functions in the published package."""
        return json.loads(self.site.files()["_fabric/said.json"])


def _matches(filters: Mapping[str, Any], event: Mapping[str, Any]) -> bool:
    subject = event["subject"]
    return (
        event["eventType"] in filters["includedEventTypes"]
        and subject.startswith(filters["subjectBeginsWith"])
        and subject.endswith(filters["subjectEndsWith"])
    )
