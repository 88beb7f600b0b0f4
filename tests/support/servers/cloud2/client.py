"""The server as tests meet it: a project of their own, its calls, its faults, what is left."""

import base64
import json
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tests.support.http_handlers import HandlerAnswer, joined
from tests.support.servers.cloud2 import event_triggers
from tests.support.servers.cloud2.project import Cloud2Project


@dataclass
class Cloud2Server:
    project: Cloud2Project

    @property
    def environment(self) -> dict[str, str]:
        """For command lines."""
        return {
            "CLOUD2_API_BASE_URL": self.project.endpoint,
            "CLOUD2_ACCESS_TOKEN": self.project.token,
            "CLOUD2_PROJECT_ID": self.project.id,
            "CLOUD2_REGION": "europe-west1",
        }

    def calls(self) -> list[tuple[str, str, int]]:
        """Each in its turn: method, path, and the status that it was answered with; 0 is none."""
        return list(self.project.calls)

    def changes(self) -> int:
        return sum(method != "GET" for method, _, _ in self.project.calls)

    def reset(self) -> None:
        """Forgets calls and faults; what was made stays."""
        self.project.calls.clear()
        self.project.faults.clear()

    def fault(self, path: str = "", **plan: Any) -> None:
        """`path` is a pattern; skip, times, method, `changing` (no look); status, word, message,
        reason; without a status the connection is closed. `after`: the call is carried out and
        its answer lost; `half`: cut in the middle."""
        self.project.faults.append({"path": path, **plan})

    def fire(self, job: str) -> int:
        """As the clock would: the status of the answer."""
        found = next(one for name, one in self.project.jobs.items() if name.endswith(f"/{job}"))
        return self.fired(found["httpTarget"])

    def fired(self, target: Mapping[str, Any]) -> int:
        email = target["oidcToken"]["serviceAccountEmail"]
        headers = {
            **target["headers"],
            "Authorization": f"Bearer oidc-{email}",
            "X-CloudScheduler-ScheduleTime": "2026-01-02T03:04:05Z",
        }
        body = base64.b64decode(target["body"])
        return self.http(target["httpMethod"], target["uri"], body, headers).status

    def publish(self, topic: str, text: str) -> list[int]:
        """A message of a topic: the statuses of the functions that received it."""
        data = base64.b64encode(text.encode()).decode()
        message = {"data": data, "messageId": "7", "publishTime": "2026-01-02T03:04:05Z"}
        body = {"message": message, "subscription": "projects/p/subscriptions/eventarc-1"}
        return self._delivered(topic, "google.cloud.pubsub.topic.v1.messagePublished", body)

    def store(self, bucket: str, name: str, kind: str = "finalized") -> list[int]:
        """An event of an object, as Cloud Storage describes it."""
        body = {
            "kind": "storage#object",
            "bucket": bucket,
            "name": name,
            "size": "17",
            "md5Hash": "+7wkvMehiXRY/BMn/Ovrbw==",
            "timeCreated": "2026-01-02T03:04:05.123Z",
        }
        return self._delivered(bucket, f"google.cloud.storage.object.v1.{kind}", body)

    def _delivered(self, source: str, kind: str, body: Mapping[str, Any]) -> list[int]:
        sent = event_triggers.deliveries(self.project, source, kind, body)
        return [self.http("POST", *one).status for one in sent]

    def jobs(self) -> list[dict[str, Any]]:
        return list(self.project.jobs.values())

    def function(self, name: str) -> dict[str, Any]:
        return self.project.functions[name].document

    def revisions(self) -> dict[str, int]:
        """How many each function has."""
        return {name: len(one.revisions) for name, one in self.project.services.items()}

    def log(self, name: str) -> str:
        """What the revision that is met has written."""
        met = self.project.services[name].met
        return met.instance.log if met else ""

    def left(self) -> dict[str, list[str]]:
        """All that a deployer could have left behind, by kind."""
        return self.project.left()

    def api(self, method: str, path: str, document: Any = None) -> Any:
        """Somebody else's call."""
        body = None if document is None else json.dumps(document).encode()
        headers = {"Authorization": f"Bearer {self.project.token}"}
        answer = self.http(method, self.project.endpoint + path, body, headers)
        assert answer.status == 200, answer
        return json.loads(answer.content)

    def http(
        self,
        method: str,
        url: str,
        body: bytes | Iterator[bytes] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> HandlerAnswer:
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


def _met(status: int, content: bytes, headers: Any) -> HandlerAnswer:
    return HandlerAnswer(status, content, *joined(headers.items()))
