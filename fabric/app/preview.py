"""The result of a preview: nothing was run, locked or written."""

from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from fabric.app.project.compiled import Compiled
from fabric.engine.memory.traces import NOTHING, RemoteResults
from fabric.graph.plan import Plan
from fabric.model.problems import Problem, drop_repeated_problems


class Preview(Struct, frozen=True):
    """A plan with its sources."""

    work: Compiled
    plan: Plan
    # The entry files of builds.
    entries: frozenset[str] = frozenset()
    # The shared traces that the plan used; the run must use the same.
    elsewhere: RemoteResults = NOTHING
    # The state and graph files, if all are local, otherwise None.
    sources: frozenset[str] | None = None
    # Problems that would prevent a deploy; a plan shows them as warnings.
    refused: tuple[Problem, ...] = ()


def with_warnings(work: Compiled, told: Iterable[Problem]) -> Compiled:
    """Add warnings to the run, without duplicates, and to each affected service."""
    found = tuple(told)
    rows = tuple(
        replace(row, warnings=(*row.warnings, *_select_messages(found, row.service)))
        for row in work.services
    )
    known = drop_repeated_problems(work.info.warnings)
    fresh = tuple(one for one in drop_repeated_problems(found) if one not in known)
    info = replace(work.info, warnings=(*work.info.warnings, *fresh))
    return replace(work, info=info, services=rows)


def _select_messages(found: Iterable[Problem], service: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one.message for one in found if one.service == service))
