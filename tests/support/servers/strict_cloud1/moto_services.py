"""The services that moto keeps, in the same process: checked before, and delivered from here."""

import io
import json
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from typing import Any
from xml.etree import ElementTree as ET

from tests.support.servers.strict_cloud1.accounts import Region
from tests.support.servers.strict_cloud1.cloud import Cloud
from tests.support.servers.strict_cloud1.constraints import Fields
from tests.support.servers.strict_cloud1.functions import Reference
from tests.support.servers.strict_cloud1.gateway_access import Answer
from tests.support.servers.strict_cloud1.machine_calls import base_of
from tests.support.servers.strict_cloud1.moto_checks import CHECKS, Asked
from tests.support.servers.strict_cloud1.queues import Carrier
from tests.support.servers.strict_cloud1.refusals import RefusalError

Environ = dict[str, Any]
Application = Callable[[Environ, Callable[..., Any]], Iterable[bytes]]
# It may wait for a message, while others go on.
_WAITS = "sqs.ReceiveMessage"
_WAKES = frozenset({"sqs.SendMessage", "sqs.SendMessageBatch"})
_OF_THE_SERVER = frozenset({"content-length", "connection"})


class MotoServices:
    def __init__(self, cloud: Cloud, application: Application) -> None:
        self._cloud = cloud
        self._application = application
        self._carrier = Carrier(cloud)
        self._health_checks: dict[tuple[str, str], tuple[bytes, Answer]] = {}

    def answer(self, name: str, environ: Environ, region: Region, asked: Asked) -> Answer:
        with self._cloud.turn if name != _WAITS else nullcontext():
            if name in CHECKS:
                CHECKS[name](self._cloud, region, asked)
            if name == "events.PutTargets":
                made = self._put_targets(environ, region, asked)
            elif name == "route53.CreateHealthCheck":
                made = self._create_health_check(environ, region, asked)
            else:
                made = self._passed_on(environ, region, asked.body)
        if name in _WAKES:
            self.wake()
        return made

    def wake(self) -> None:
        self._carrier.wake()

    def close(self) -> None:
        self._carrier.close()

    def _passed_on(self, environ: Environ, region: Region, body: bytes) -> Answer:
        own = {
            "HTTP_X_MOTO_ACCOUNT_ID": region.account.number,
            "wsgi.input": io.BytesIO(body),
            "CONTENT_LENGTH": str(len(body)),
        }
        head: list[Any] = []

        def start(status: str, headers: list[tuple[str, str]], *_: object) -> None:
            head[:] = [int(status.split()[0]), headers]

        content = b"".join(self._application({**environ, **own}, start))
        kept = [one for one in head[1] if one[0].lower() not in _OF_THE_SERVER]
        return Answer(head[0], tuple(kept), content)

    def _put_targets(self, environ: Environ, region: Region, asked: Asked) -> Answer:
        """Targets that are not there are counted and named, and the others are put."""
        document = json.loads(asked.body)
        missing = [one for one in document["Targets"] if not self._is_there(region, one["Arn"])]
        document["Targets"] = [one for one in document["Targets"] if one not in missing]
        made = self._passed_on(environ, region, json.dumps(document).encode())
        if made.status != 200 or not missing:
            return made
        failed = [_failed(one) for one in missing]
        body = json.dumps({"FailedEntryCount": len(failed), "FailedEntries": failed}).encode()
        return Answer(made.status, made.headers, body)

    def _create_health_check(self, environ: Environ, region: Region, asked: Asked) -> Answer:
        """Asked for again under the same reference it is the one that is there (docs)."""
        reference = ET.fromstring(asked.body).findtext("{*}CallerReference", "")  # noqa: S314
        key = region.account.number, reference
        if key not in self._health_checks:
            made = self._passed_on(environ, region, asked.body)
            self._health_checks[key] = asked.body, made
        body, made = self._health_checks[key]
        if body != asked.body:
            message = "a health check of another kind has this reference"
            raise RefusalError(409, "HealthCheckAlreadyExists", message)
        return made

    def _is_there(self, region: Region, arn: str) -> bool:
        if ":states:" in arn:
            found = region.machines.get(base_of(arn))
            return found is not None and found.qualified(arn) is not None
        if ":lambda:" not in arn:
            return True
        reference = Reference.of(arn)
        try:
            region.function(reference).version(reference.qualifier)
        except RefusalError:
            return False
        return arn == region.function_arn(*reference)


def _failed(target: Fields) -> Fields:
    message = f"Target not found: {target['Arn']}"
    return {
        "TargetId": target["Id"],
        "ErrorCode": "ResourceNotFoundException",
        "ErrorMessage": message,
    }
