"""Layers of the project on AWS: published versions, each with the mark of its bytes and settings.

A layer has no tags. The mark is therefore at the end of the description, by which a version is
found again if the response to its publish call was lost.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from fabric.providers.cloud1.core.client import GONE, MAX_PARALLEL, ONCE, ignore_codes
from fabric.providers.cloud1.core.ownership import refuse_other_account, refuse_other_region
from fabric.providers.cloud1.core.versions import RUNTIMES, Cloud1Work
from fabric.providers.cloud1.functions.functions import LARGEST_ZIP, upload_archive
from fabric.providers.core.contract import DeploymentAddress, LayerOrder
from fabric.providers.core.retry import poll_until, run_parallel
from fabric.providers.core.triggers import format_resource_name, shorten_name
from fabric.system.cloud1_account import THROTTLED, read_error_code

LAYER_VERSION = re.compile(r"(arn:[a-z-]+:lambda:([a-z0-9-]+):\d+:layer:[^:]+):(\d+)")
_NAME_LENGTH = 64
_DESCRIPTION_LENGTH = 256
_SERVER_ERROR = 500


def publish_layer(work: Cloud1Work, address: DeploymentAddress, order: LayerOrder) -> str:
    """Return the ARN of the version with this mark. It is published if it does not exist.

    Each publish call creates a version. So its result is looked up before it is repeated.
    """
    refuse_other_region(work, address)
    refuse_other_account(work, address)
    name, failed = build_layer_name(address, order.name), list[Exception]()

    def find_or_publish() -> str | None:
        arn = _find_version(work, name, order.mark)
        if arn:
            work.scope.watch.hear(f"layer {order.name}: version {_read_number(arn)} is available")
            return arn
        try:
            arn = _publish(work, name, order)
        except _list_uncertain_errors() as error:
            failed.append(_require_uncertain(error))
            return None
        work.scope.watch.hear(f"layer {order.name}: published version {_read_number(arn)}")
        return arn

    arn = poll_until(find_or_publish, work.scope.waiting, work.scope.watch)
    if arn is None:
        raise failed[-1]
    return arn


def _list_uncertain_errors() -> tuple[type[Exception], ...]:
    from botocore.exceptions import ClientError, HTTPClientError
    from botocore.exceptions import ConnectionError as UnreachableError

    return ClientError, HTTPClientError, UnreachableError


def _require_uncertain(error: Exception) -> Exception:
    """Raise an error that a second call would have too."""
    from botocore.exceptions import ClientError

    if isinstance(error, ClientError):
        status = int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
        if read_error_code(error) not in THROTTLED and status < _SERVER_ERROR:
            raise error
    return error


def _publish(work: Cloud1Work, name: str, order: LayerOrder) -> str:
    content = order.archive.read_bytes()
    source: dict[str, object] = {"ZipFile": content}
    if len(content) > LARGEST_ZIP:
        source = upload_archive(work, f"the layer `{order.name}`", order.sha256, content)
    settings = {
        "Description": _format_description(order),
        "LicenseInfo": order.license,
        "CompatibleRuntimes": [RUNTIMES.get(one, one) for one in order.runtimes],
        "CompatibleArchitectures": list(order.architectures),
    }
    answer = work.clients.of("lambda", ONCE).publish_layer_version(
        LayerName=name,
        Content=source,
        **{key: value for key, value in settings.items() if value},
    )
    return str(answer["LayerVersionArn"])


def _find_version(work: Cloud1Work, name: str, mark: str) -> str:
    for row in _list_versions(work, name):
        if str(row.get("Description", "")).endswith(_format_mark(mark)):
            return str(row["LayerVersionArn"])
    return ""


def _list_versions(work: Cloud1Work, name: str) -> Iterator[dict[str, Any]]:
    """List versions, newest first; none if the layer does not exist."""
    from botocore.exceptions import ClientError

    pages = work.functions.get_paginator("list_layer_versions")
    try:
        for page in pages.paginate(LayerName=name):
            yield from page["LayerVersions"]
    except ClientError as error:
        if read_error_code(error) not in GONE:
            raise


def delete_layers(
    work: Cloud1Work, address: DeploymentAddress, layers: Sequence[str]
) -> Sequence[str]:
    """Delete versions. A failure does not fail the run: it is reported and retried later."""
    refuse_other_account(work, address)
    done = run_parallel(lambda arn: _try_delete(work, arn), layers, MAX_PARALLEL)
    return [arn for arn, is_gone in zip(layers, done, strict=True) if is_gone]


def _try_delete(work: Cloud1Work, arn: str) -> bool:
    from botocore.exceptions import BotoCoreError, ClientError

    found = LAYER_VERSION.fullmatch(arn)
    if found is None:
        return True  # of a simulated deploy
    name = found[1].rpartition(":")[2]
    try:
        with ignore_codes(GONE):
            work.functions.delete_layer_version(LayerName=name, VersionNumber=int(found[3]))
    except (ClientError, BotoCoreError) as error:
        said = f"layer {name}: version {found[3]} could not be deleted: {error}"
        work.scope.watch.hear(said)
        return False
    work.scope.watch.hear(f"layer {name}: deleted unused version {found[3]}")
    return True


def build_layer_name(address: DeploymentAddress, name: str) -> str:
    return shorten_name(format_resource_name(address, name), _NAME_LENGTH)


def _format_description(order: LayerOrder) -> str:
    """Format the description with the mark, which is never shortened."""
    mark = _format_mark(order.mark)
    if not order.description:
        return mark
    return f"{order.description[: _DESCRIPTION_LENGTH - len(mark) - 1]} {mark}"


def _format_mark(mark: str) -> str:
    return f"[fabric {mark}]"


def _read_number(arn: str) -> str:
    return arn.rpartition(":")[2]
