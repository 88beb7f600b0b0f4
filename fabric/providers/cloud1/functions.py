"""Deploy functions to AWS Lambda: each deploy publishes a version without traffic."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from fabric.model.problems import FabricError, Problem
from fabric.providers.cloud1.answers import CONFLICT, is_role_too_new
from fabric.providers.cloud1.beside import beside_of, is_met, set_beside, set_share
from fabric.providers.cloud1.function_settings import (
    architecture,
    code_digest,
    configuration,
    differing,
    function_name,
    function_of,
    mark_in,
    version_in,
)
from fabric.providers.cloud1.ownership import (
    refuse_elsewhere,
    refuse_foreign,
    refuse_other_account,
    refuse_other_region,
)
from fabric.providers.cloud1.versions import (
    Cloud1Work,
    described,
    made_under,
    met,
    patiently,
    until_ready,
)
from fabric.providers.contract import DeploymentAddress, FunctionOrder, LiveFunction
from fabric.providers.only_version import refuse_without_version
from fabric.providers.waiting import until
from fabric.system.cloud1_account import code_of

_LARGEST_ZIP = 50 * 1024 * 1024


class _FunctionMaking(Struct, frozen=True):
    """The deploy of one function."""

    work: Cloud1Work
    address: DeploymentAddress
    order: FunctionOrder

    @property
    def name(self) -> str:
        return function_name(self.address, self.order.name)

    @property
    def wanted(self) -> dict[str, object]:
        return configuration(self.order, self.work.own.role_arn)


def made(work: Cloud1Work, address: DeploymentAddress, order: FunctionOrder) -> LiveFunction:
    refuse_other_region(work, address)
    making = _FunctionMaking(work, address, order)
    then = _then(making)
    if then is not None:
        _refuse_others(making, then)
        _set_beside(making, then)
        return _live(making, str(then["Configuration"]["FunctionArn"]))
    refuse_without_version(order)
    found = described(work, making.name)
    if found is None:
        refuse_other_account(work, address)
        arn = _created(making)
        if arn:
            return _live(making, arn)
        found = described(work, making.name)
    if found is None:
        why = "the function existed when it was created, and was deleted a moment later"
        message, hint = f"function `{order.name}`: {why}", "run the command again"
        raise FabricError(Problem("provider/failed", message, hint))
    _refuse_others(making, found)
    _set_beside(making, found)
    return _live(making, _brought_up(making, found["Configuration"]))


def found(
    work: Cloud1Work, address: DeploymentAddress, function: str, mark: str
) -> LiveFunction | None:
    """Find the version with a mark, or without one the version that receives traffic."""
    name = function_name(address, function)
    if not mark:
        return met(work, name, function)
    there = made_under(work, name, function, mark)
    if there is not None:  # whoever has made it may not have waited for it
        until_ready(work, name)
    return there


def _refuse_others(making: _FunctionMaking, found: Mapping[str, Any]) -> None:
    refuse_elsewhere(making.address, str(found["Configuration"]["FunctionArn"]))
    refuse_foreign(making.address, making.order.name, found)


def _then(making: _FunctionMaking) -> dict[str, Any] | None:
    """Find the version that matched this order before, if it still exists."""
    version = version_in(making.order.version)
    if not version:
        return None
    found = described(making.work, making.name, version)
    if found is None or not _is_as_ordered(making, found["Configuration"]):
        return None
    return found


def _is_as_ordered(making: _FunctionMaking, one: Mapping[str, Any]) -> bool:
    """Return whether the version matches the order. Marks also cover tags, so a different mark does
    not prove a difference."""
    if one["CodeSha256"] != code_digest(making.order.artifact.sha256):
        return False
    wanted = {name: value for name, value in making.wanted.items() if name != "Description"}
    return mark_in(one.get("Description")) == making.order.mark or not differing(wanted, one)


def _created(making: _FunctionMaking) -> str:
    """Create the function and return the id of its first version.

    Empty if the function exists, possibly created by this call before its response was lost.
    """
    from botocore.exceptions import ClientError

    def create() -> str | None:
        try:
            answer = making.work.functions.create_function(
                FunctionName=making.name,
                Code=_code(making),
                Architectures=[architecture(making.order)],
                Tags=beside_of(making.order).all_tags(making.address),
                Publish=True,
                **making.wanted,
            )
        except ClientError as error:
            if is_role_too_new(error) and not has_waited(error):
                making.work.watch.hear(
                    f"{making.order.name}: waiting until the role can be assumed"
                )
                return None
            if code_of(error) in CONFLICT:
                return ""
            raise
        return f"{function_of(answer['FunctionArn'])}:{answer['Version']}"

    def has_waited(error: ClientError) -> bool:
        refused.append(error)
        work = making.work
        return work.clients.has_waited(work.own.role_arn, work.waiting.most)

    refused: list[ClientError] = []
    arn = until(create, making.work.waiting, making.work.watch)
    if arn is None:
        raise refused[-1]
    if arn:
        until_ready(making.work, making.name)
        set_share(making.work, making.name, None, making.order.reserved_concurrency)
    return arn


def _brought_up(making: _FunctionMaking, found: Mapping[str, Any]) -> str:
    """Return the id of a version that matches the order: the newest or a new one. Settings come
    first, because the code update publishes both."""
    functions, order = making.work.functions, making.order
    digest = code_digest(order.artifact.sha256)
    changed = differing(making.wanted, found)
    is_same_code = found["CodeSha256"] == digest and found.get("Architectures", ["x86_64"]) == [
        architecture(order)
    ]
    if not changed and is_same_code:
        there = made_under(making.work, making.name, order.name, order.mark)
        if there and there.artifact_sha256 == order.artifact.sha256:
            return there.resource_id
    if changed:
        patiently(
            making.work,
            lambda: functions.update_function_configuration(FunctionName=making.name, **changed),
        )
        until_ready(making.work, making.name)
    if is_same_code:
        answer = patiently(
            making.work,
            lambda: functions.publish_version(FunctionName=making.name, CodeSha256=digest),
        )
    else:
        answer = patiently(
            making.work,
            lambda: functions.update_function_code(
                FunctionName=making.name,
                Architectures=[architecture(order)],
                Publish=True,
                **_code(making),
            ),
        )
        until_ready(making.work, making.name)
    return f"{function_of(answer['FunctionArn'])}:{answer['Version']}"


def _set_beside(making: _FunctionMaking, found: Mapping[str, Any]) -> None:
    """Set the attributes, unless the function receives traffic: then a release sets them."""
    if not is_met(making.address, making.order.name):
        set_beside(making.work, making.address, beside_of(making.order), found)


def _code(making: _FunctionMaking) -> dict[str, object]:
    content = making.order.artifact.path.read_bytes()
    if len(content) <= _LARGEST_ZIP:
        return {"ZipFile": content}
    bucket, name = making.work.own.artifact_bucket, making.order.artifact.sha256
    if not bucket:
        message = (
            f"the archive of `{making.order.name}` has {len(content):,} bytes; archives above "
            f"{_LARGEST_ZIP:,} bytes require a bucket"
        )
        hint = "set `artifactBucket` below `extensions.cloud1-lambda`, or include fewer files"
        raise FabricError(Problem("deploy/archive-too-large", message, hint))
    key = f"fabric/{name}.zip"
    making.work.clients.of("s3").put_object(Bucket=bucket, Key=key, Body=content)
    return {"S3Bucket": bucket, "S3Key": key}


def _live(making: _FunctionMaking, arn: str) -> LiveFunction:
    order = making.order
    making.work.watch.hear(f"{order.name}: version {version_in(arn)} is ready")
    return LiveFunction(
        order.name,
        making.name,
        arn,
        artifact_sha256=order.artifact.sha256,
        mark=order.mark,
        triggers=order.triggers,
    )
