"""Check owner, account and region of functions before they are changed or deleted."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from fabric.model.problems import FabricError, Problem
from fabric.providers.cloud1.core.permissions import Arn, parse_arn_home
from fabric.providers.cloud1.core.versions import (
    Cloud1Work,
    build_ownership_tags,
)
from fabric.providers.core.contract import DeploymentAddress, LiveFunction
from fabric.providers.core.own_arns import locate_own

_FUNCTION = "fabric:function"
_ARN, _PLACE = "arn:", "place"


def check_ownership(address: DeploymentAddress, function: str, found: Mapping[str, Any]) -> None:
    """Raise if the described function belongs to another service or stage. `found` is the API
    response."""
    if is_foreign(address, function, found):
        name = found["Configuration"]["FunctionName"]
        message = (
            f"the function `{name}` already exists at AWS and is not `{function}` of "
            f"{_format_service(address)}: the existing function is {_describe_owner(found)}"
        )
        raise FabricError(Problem("deploy/foreign", message, _format_foreign_hint(found)))


def _format_foreign_hint(found: Mapping[str, Any]) -> str:
    """Another service of fabric cannot be adopted."""
    if is_owned(found):
        return "delete it manually, or rename your function; it was not changed"
    return "run: fabric adopt, to take it over, or rename your function; it was not changed"


def is_foreign(address: DeploymentAddress, function: str, found: Mapping[str, Any]) -> bool:
    """Return whether tags name another owner. Without permission to read tags, state decides."""
    tags: Mapping[str, str] = found.get("Tags") or {}
    wanted = {**build_ownership_tags(address), _FUNCTION: function}
    if any(name in tags for name in wanted):
        return any(tags.get(name) != text for name, text in wanted.items())
    known = address.previous.function(function) if address.previous else None
    return known is None or not known.resource_id.startswith(_ARN)


def is_owned(found: Mapping[str, Any]) -> bool:
    """Return whether the tags name an owner: a service of fabric."""
    tags: Mapping[str, str] = found.get("Tags") or {}
    return "fabric:service" in tags


def refuse_elsewhere(address: DeploymentAddress, arn: str) -> None:
    """Raise if a created or found function is in another place than the rest of the service."""
    there, here = read_home(address), parse_arn_home(arn)
    if there is not None and there != here:
        raise FabricError(_other_place_problem(address, there, here))


def format_kept_place(functions: Sequence[LiveFunction]) -> dict[str, str]:
    first = next(iter(functions), None)
    return {} if first is None else {_PLACE: parse_arn_home(first.resource_id).of("lambda", "")}


def locate_deployment(address: DeploymentAddress) -> DeploymentAddress:
    """Return the address with the deployed region, which can differ from the configured one."""
    there = read_home(address)
    return address if there is None else replace(address, region=there.region)


def refuse_other_region(work: Cloud1Work, address: DeploymentAddress) -> None:
    """Raise if the configured region differs from the deployed one, without an API call."""
    there, region = read_home(address), str(work.functions.meta.region_name)
    if there is not None and there.region != region:
        raise FabricError(
            _other_place_problem(address, there, Arn(there.partition, region, there.account))
        )


def find_region_problem(address: DeploymentAddress) -> Problem | None:
    """Return a problem for a region conflict. An omitted region comes from the credentials, which
    only a call can resolve."""
    there = read_home(address)
    if there is None or address.region in ("", there.region):
        return None
    return _other_place_problem(address, there, Arn(there.partition, address.region, there.account))


def refuse_other_account(work: Cloud1Work, address: DeploymentAddress) -> None:
    """Raise if resources are to be created or deleted in another account. One check covers all of
    them."""
    there = read_home(address)
    if there is not None:
        here = Arn(there.partition, work.functions.meta.region_name, work.clients.account())
        if here != there:
            raise FabricError(_other_place_problem(address, there, here))


def read_home(address: DeploymentAddress) -> Arn | None:
    """Read the recorded place of the service. Service-level resources outlive functions."""
    if address.previous is None:
        return None
    kept = dict(address.previous.kept).get(_PLACE)
    arns = (one.resource_id for one in address.previous.functions)
    arn = kept or next((one for one in arns if one.startswith(_ARN)), None)
    return parse_arn_home(arn) if arn else None


def find_own_addresses(
    work: Cloud1Work, address: DeploymentAddress, names: Sequence[str]
) -> dict[str, str]:
    """Map names such as `function:NAME.arn` to the alias that callers use. The account is recorded,
    or read with one call."""
    home = read_home(address) or Arn(
        str(work.functions.meta.partition),
        str(work.functions.meta.region_name),
        work.clients.account(),
    )
    return locate_own(names, address, home.of)


def _other_place_problem(address: DeploymentAddress, there: Arn, here: Arn) -> Problem:
    message = (
        f"{_format_service(address)} is deployed in {there.region} of account {there.account}, "
        f"not in {here.region} of account {here.account}"
    )
    hint = "remove it there first with its region and credentials, or deploy another stage"
    return Problem("deploy/other-place", message, hint)


def _format_service(address: DeploymentAddress) -> str:
    return f"`{address.service}` in stage `{address.stage}`"


def _describe_owner(found: Mapping[str, Any]) -> str:
    tags: Mapping[str, str] = found.get("Tags") or {}
    if "fabric:service" not in tags:
        return "not managed by fabric"
    function, stage = tags.get(_FUNCTION, ""), tags.get("fabric:stage", "")
    return f"`{function}` of `{tags['fabric:service']}` in stage `{stage}`"
