"""Application Auto Scaling of Lambda: what moto takes and an account refuses."""

from typing import Any

from moto.applicationautoscaling.models import applicationautoscaling_backends

from tests.support.servers.strict_cloud1.accounts import Region
from tests.support.servers.strict_cloud1.constraints import Fields
from tests.support.servers.strict_cloud1.functions import LATEST, Reference
from tests.support.servers.strict_cloud1.refusals import RefusalError

_DIMENSION = "lambda:function:ProvisionedConcurrency"


def check_target(region: Region, members: Fields) -> None:
    """The version is there. A target of an alias is not what fabric registers."""
    kind, _, name = members["ResourceId"].partition(":")
    reference = Reference.of(name)
    function = region.functions.get(reference.name)
    numbers = function.versions if function else {}
    if kind != "function" or reference.qualifier in ("", LATEST):
        raise _wrong("The resource is a version or an alias of a function.")
    if reference.qualifier not in numbers:
        raise _wrong(f"Lambda function version not found: {name}")
    if members.get("MinCapacity", 0) > members.get("MaxCapacity", 0):
        raise _wrong("Maximum capacity cannot be less than minimum capacity")


def check_registered(region: Region, members: Fields) -> None:
    if members["ResourceId"] not in _targets(region):
        message = f"No scalable target found for resource ID: {members['ResourceId']}"
        raise RefusalError(400, "ObjectNotFoundException", message)


def forget(region: Region, members: Fields) -> None:
    """With a target go its policies and its scheduled actions."""
    check_registered(region, members)
    backend = _backend(region)
    ident = members["ResourceId"]
    backend.policies = {
        key: one for key, one in backend.policies.items() if one.resource_id != ident
    }
    backend.scheduled_actions = [
        one for one in backend.scheduled_actions if one.resource_id != ident
    ]


def scaling_left(region: Region) -> list[str]:
    backend = _backend(region)
    rows = (*backend.policies.values(), *backend.scheduled_actions)
    return sorted({*_targets(region), *(one.resource_id for one in rows)})


def _targets(region: Region) -> dict[str, Any]:
    found: dict[str, Any] = _backend(region).targets.get(_DIMENSION, {})
    return found


def _backend(region: Region) -> Any:
    return applicationautoscaling_backends[region.account.number][region.name]


def _wrong(message: str) -> RefusalError:
    return RefusalError(400, "ValidationException", message)
