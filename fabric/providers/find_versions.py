"""Find the versions of functions one by one, for providers with per-function versions."""

from collections.abc import Callable, Mapping
from typing import TypeAlias

from fabric.providers.contract import DeploymentAddress, LiveFunction

Find: TypeAlias = Callable[[DeploymentAddress, str, str], LiveFunction | None]


def find_versions(
    find: Find, address: DeploymentAddress, marks: Mapping[str, str]
) -> dict[str, str]:
    rows = {name: find(address, name, mark) for name, mark in marks.items()}
    return {name: one.resource_id for name, one in rows.items() if one is not None}
