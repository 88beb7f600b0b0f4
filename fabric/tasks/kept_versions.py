"""Versions that a provider has kept with their environment, where nobody here knows its values."""

from collections.abc import Sequence

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
    return [
        PastEnvironment(tools, PastFunction(record.ref, one, record.salt))
        for one in functions
        if not kept_version(tools, record, one)
    ]


def kept_version(tools: DeployTools, record: Record, one: FunctionRecord) -> str:
    """The provider is asked where values are lost alone; empty where they are known, or it has no
    such version."""
    past = PastEnvironment(tools, PastFunction(record.ref, one, record.salt))
    if not past.problem or not one.key or record.mode is not Mode.REAL:
        return ""
    deployer = tools.deployers.deployer(record.ref, record.mode)
    if not isinstance(deployer, VersionKeeper):
        return ""
    address = replace(tools.deployers.full_address(record.ref), previous=record)
    return deployer.kept_version(address, one.name, mark_of(one.key, record.salt))
