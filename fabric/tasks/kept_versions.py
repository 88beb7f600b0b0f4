"""Versions that a provider has kept with their environment, where nobody here knows its values."""

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from fabric.model.marks import mark_of
from fabric.model.records.record import FunctionRecord, Mode, Record
from fabric.providers.contract import VersionKeeper
from fabric.tasks.deploy_tools import DeployTools
from fabric.tasks.past_environment import PastEnvironment, PastFunction


def keeps_versions(tools: DeployTools, record: Record) -> bool:
    """Whether what is live now will still be there when it has to come back."""
    if record.mode is not Mode.REAL:
        return False
    return isinstance(tools.deployers.deployer(record.ref, record.mode), VersionKeeper)


def past_environments(
    tools: DeployTools, record: Record, functions: Sequence[FunctionRecord]
) -> list[PastEnvironment]:
    """Those of functions whose values are needed: not of such as come back as they were."""
    kept = kept_versions(tools, record, functions)
    return [_past(tools, record, one) for one in functions if one.name not in kept]


def kept_versions(
    tools: DeployTools, record: Record, functions: Sequence[FunctionRecord]
) -> Mapping[str, str]:
    """By function. The provider is asked where values are lost alone, and once for all of them;
    none of those that are known, or that it has no more."""
    if record.mode is not Mode.REAL:
        return {}
    lost = [one for one in functions if one.key and _past(tools, record, one).problem]
    if not lost:
        return {}
    deployer = tools.deployers.deployer(record.ref, record.mode)
    if not isinstance(deployer, VersionKeeper):
        return {}
    address = replace(tools.deployers.full_address(record.ref), previous=record)
    marks = {one.name: mark_of(one.key, record.salt) for one in lost}
    return deployer.kept_versions(address, marks)


def _past(tools: DeployTools, record: Record, one: FunctionRecord) -> PastEnvironment:
    return PastEnvironment(tools, PastFunction(record.ref, one, record.salt))
