"""Merge one service for several targets into one project."""

from collections.abc import Iterable, Sequence
from typing import TypeVar

from msgspec.structs import replace

from fabric.app.project.opened import Project
from fabric.app.request import Where

T = TypeVar("T")


def merge_targets(found: Sequence[Project], where: Where) -> Project:
    """Merge the targets. Each target has a separate build output directory."""
    units = tuple(
        replace(
            unit,
            apart=unit.config.provider.label if len(found) > 1 else "",
            leads_name=where.leads_name,
        )
        for project in found
        for unit in project.units
    )
    dependencies = {
        (unit.service, unit.config.provider.label): unit
        for project in found
        for unit in project.dependencies
    }
    return replace(
        found[0],
        units=units,
        sources=_merge_distinct(project.sources for project in found),
        looked_for=_merge_distinct(project.looked_for for project in found),
        bound_names=frozenset().union(*(project.bound_names for project in found)),
        dependencies=tuple(dependencies.values()),
        entries=tuple(entry for project in found for entry in project.entries),
        notes=_merge_distinct(project.notes for project in found),
    )


def _merge_distinct(rows: Iterable[Iterable[T]]) -> tuple[T, ...]:
    return tuple(dict.fromkeys(one for row in rows for one in row))
