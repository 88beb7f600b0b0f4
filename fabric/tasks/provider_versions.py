"""Versions that the provider keeps with their environment, for values that fabric does not know."""

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from fabric.model.ownership_tags import mark_of
from fabric.model.records.record import FunctionRecord, Mode, Record
from fabric.providers.core.contract import VersionFinder
from fabric.tasks.deploy_tools import DeployTools
from fabric.tasks.past_environment import PastEnvironment, PastFunction


def has_kept_versions(tools: DeployTools, record: Record) -> bool:
    """Return whether the provider keeps the deployed version for a later restore."""
    if record.mode is not Mode.REAL:
        return False
    return isinstance(tools.deployers.deployer(record.ref, record.mode), VersionFinder)


def list_past_environments(
    tools: DeployTools, record: Record, functions: Sequence[FunctionRecord]
) -> list[PastEnvironment]:
    """List the environments of functions whose values are needed. Unchanged functions are
    skipped."""
    kept = find_versions_to_restore(tools, record, functions)
    return [
        _build_past_environment(tools, record, one) for one in functions if one.name not in kept
    ]


def find_versions_to_restore(
    tools: DeployTools, record: Record, functions: Sequence[FunctionRecord]
) -> Mapping[str, str]:
    """Find kept versions by function. Queries the provider once, and only for unknown values.

    Deleted versions are omitted.
    """
    if record.mode is not Mode.REAL:
        return {}
    lost = [
        one for one in functions if one.key and _build_past_environment(tools, record, one).problem
    ]
    if not lost:
        return {}
    deployer = tools.deployers.deployer(record.ref, record.mode)
    if not isinstance(deployer, VersionFinder):
        return {}
    address = replace(tools.deployers.full_address(record.ref), previous=record)
    marks = {one.name: mark_of(one.key, record.salt) for one in lost}
    return deployer.find_versions(address, marks)


def _build_past_environment(
    tools: DeployTools, record: Record, one: FunctionRecord
) -> PastEnvironment:
    return PastEnvironment(tools, PastFunction(record.ref, one, record.salt))
