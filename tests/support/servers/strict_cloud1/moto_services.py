"""The services that moto keeps, in the same process: checked before, and delivered from here."""

import io
import json
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from typing import Any
from xml.etree import ElementTree as ET

from moto.logs.models import logs_backends
from moto.s3.models import s3_backends

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
_OK = 200
_LOG_KEYS = frozenset({"logs.AssociateKmsKey", "logs.DisassociateKmsKey"})
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
            elif name in _LOG_KEYS:
                made = _set_log_key(region, asked)
            elif name == "route53.CreateHealthCheck":
                made = self._create_health_check(environ, region, asked)
            else:
                made = self._passed_on(environ, region, asked.body)
            made = _completed(name, made, region, asked)
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


def _completed(name: str, made: Answer, region: Region, asked: Asked) -> Answer:
    """With what moto does not keep, or does not show."""
    if name == "logs.CreateLogGroup" and made.status == _OK:
        _log_group(region, asked).log_class = asked.members.get("logGroupClass")
    if name == "logs.DescribeLogGroups":
        return _with_log_classes(made, region)
    if name == "s3.GetBucketNotificationConfiguration":
        return _with_event_bridge(made, region, asked)
    return made


def _with_event_bridge(made: Answer, region: Region, asked: Asked) -> Answer:
    """moto keeps whether a bucket sends its events to EventBridge, and does not show it."""
    bucket = s3_backends[region.account.number]["aws"].buckets.get(asked.path.strip("/"))
    kept = bucket.notification_configuration if bucket else None
    if kept is None or kept.event_bridge is None or b"EventBridgeConfiguration" in made.body:
        return made
    root = ET.fromstring(made.body)  # noqa: S314
    space = root.tag.partition("}")[0] + "}" if root.tag.startswith("{") else ""
    ET.SubElement(root, f"{space}EventBridgeConfiguration")
    body = ET.tostring(root)
    return Answer(made.status, made.headers, body)


def _log_group(region: Region, asked: Asked) -> Any:
    groups = logs_backends[region.account.number][region.name].groups
    if asked.members["logGroupName"] not in groups:
        message = "The specified log group does not exist."
        raise RefusalError(400, "ResourceNotFoundException", message)
    return groups[asked.members["logGroupName"]]


def _set_log_key(region: Region, asked: Asked) -> Answer:
    _log_group(region, asked).kms_key_id = asked.members.get("kmsKeyId")
    return Answer(_OK, (("Content-Type", "application/x-amz-json-1.1"),), b"{}")


def _with_log_classes(made: Answer, region: Region) -> Answer:
    groups = logs_backends[region.account.number][region.name].groups
    document = json.loads(made.body)
    for row in document.get("logGroups", ()):
        group = groups[row["logGroupName"]]
        row["logGroupClass"] = getattr(group, "log_class", None) or "STANDARD"
    return Answer(made.status, made.headers, json.dumps(document).encode())


def _failed(target: Fields) -> Fields:
    message = f"Target not found: {target['Arn']}"
    return {
        "TargetId": target["Id"],
        "ErrorCode": "ResourceNotFoundException",
        "ErrorMessage": message,
    }
