"""Check owner, account and region of functions before they are changed or deleted."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from fabric.model.problems import FabricError, Problem
from fabric.providers.cloud1.function_settings import function_name, own_tags
from fabric.providers.cloud1.permissions import Arn, home_of
from fabric.providers.cloud1.versions import Cloud1Work
from fabric.providers.contract import DeploymentAddress, LiveFunction

_FUNCTION = "fabric:function"
_ARN, _PLACE = "arn:", "place"


def refuse_foreign(address: DeploymentAddress, function: str, found: Mapping[str, Any]) -> None:
    """Raise if the described function belongs to another service or stage. `found` is the API
    response."""
    if is_foreign(address, function, found):
        name = function_name(address, function)
        message = (
            f"the function `{name}` already exists at AWS and is not `{function}` of "
            f"{_of(address)}: it is {_whose(found)}"
        )
        hint = "delete it manually, or rename your function; it was not changed"
        raise FabricError(Problem("deploy/foreign", message, hint))


def is_foreign(address: DeploymentAddress, function: str, found: Mapping[str, Any]) -> bool:
    """Return whether tags name another owner. Without permission to read tags, state decides."""
    tags: Mapping[str, str] = found.get("Tags") or {}
    wanted = {**own_tags(address), _FUNCTION: function}
    if any(name in tags for name in wanted):
        return any(tags.get(name) != text for name, text in wanted.items())
    known = address.previous.function(function) if address.previous else None
    return known is None or not known.resource_id


def refuse_elsewhere(address: DeploymentAddress, arn: str) -> None:
    """Raise if a created or found function is in another place than the rest of the service."""
    there, here = _home(address), home_of(arn)
    if there is not None and there != here:
        raise FabricError(_elsewhere(address, there, here))


def kept_place(functions: Sequence[LiveFunction]) -> dict[str, str]:
    first = next(iter(functions), None)
    return {} if first is None else {_PLACE: home_of(first.resource_id).of("lambda", "")}


def where_it_is(address: DeploymentAddress) -> DeploymentAddress:
    """Return the address with the deployed region, which can differ from the configured one."""
    there = _home(address)
    return address if there is None else replace(address, region=there.region)


def refuse_other_region(work: Cloud1Work, address: DeploymentAddress) -> None:
    """Raise if the configured region differs from the deployed one, without an API call."""
    there, region = _home(address), str(work.functions.meta.region_name)
    if there is not None and there.region != region:
        raise FabricError(_elsewhere(address, there, Arn(there.partition, region, there.account)))


def misplaced(address: DeploymentAddress) -> Problem | None:
    """Return a problem for a region conflict. An omitted region comes from the credentials, which
    only a call can resolve."""
    there = _home(address)
    if there is None or address.region in ("", there.region):
        return None
    return _elsewhere(address, there, Arn(there.partition, address.region, there.account))


def refuse_other_account(work: Cloud1Work, address: DeploymentAddress) -> None:
    """Raise if resources are to be created or deleted in another account. One check covers all of
    them."""
    there = _home(address)
    if there is not None:
        here = Arn(there.partition, work.functions.meta.region_name, work.clients.account())
        if here != there:
            raise FabricError(_elsewhere(address, there, here))


def _home(address: DeploymentAddress) -> Arn | None:
    """Read the recorded place of the service. Service-level resources outlive functions."""
    if address.previous is None:
        return None
    kept = dict(address.previous.kept).get(_PLACE)
    arns = (one.resource_id for one in address.previous.functions)
    arn = kept or next((one for one in arns if one.startswith(_ARN)), None)
    return home_of(arn) if arn else None


def _elsewhere(address: DeploymentAddress, there: Arn, here: Arn) -> Problem:
    message = (
        f"{_of(address)} is deployed in {there.region} of account {there.account}, not in "
        f"{here.region} of account {here.account}"
    )
    hint = "remove it there first with its region and credentials, or deploy another stage"
    return Problem("deploy/other-place", message, hint)


def _of(address: DeploymentAddress) -> str:
    return f"`{address.service}` in stage `{address.stage}`"


def _whose(found: Mapping[str, Any]) -> str:
    tags: Mapping[str, str] = found.get("Tags") or {}
    if "fabric:service" not in tags:
        return "not managed by fabric"
    function, stage = tags.get(_FUNCTION, ""), tags.get("fabric:stage", "")
    return f"`{function}` of `{tags['fabric:service']}` in stage `{stage}`"
