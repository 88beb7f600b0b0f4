"""What a look at a project came to: nothing was run, locked or written for it."""

from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from fabric.app.project.compiled import Compiled
from fabric.engine.memory.made_elsewhere import NOTHING, MadeElsewhere
from fabric.graph.plan import Plan
from fabric.model.problems import Problem, each_once


class Preview(Struct, frozen=True):
    """`elsewhere` is what the plan believed of other machines: the run has to believe the same.

    `entries` are the files where builds would begin. `sources` are the files that say what is live,
    where all of them lie on this machine, and all that the graph was made from; else None.
    `refused` is what a deploy of this would be refused for; a plan shows it as warnings.
    """

    work: Compiled
    plan: Plan
    entries: frozenset[str] = frozenset()
    elsewhere: MadeElsewhere = NOTHING
    sources: frozenset[str] | None = None
    refused: tuple[Problem, ...] = ()


def with_warnings(work: Compiled, told: Iterable[Problem]) -> Compiled:
    """In the warnings of the run, each once, and in those of each service that is concerned."""
    found = tuple(told)
    rows = tuple(
        replace(row, warnings=(*row.warnings, *_messages(found, row.service)))
        for row in work.services
    )
    known = each_once(work.info.warnings)
    fresh = tuple(one for one in each_once(found) if one not in known)
    info = replace(work.info, warnings=(*work.info.warnings, *fresh))
    return replace(work, info=info, services=rows)


def _messages(found: Iterable[Problem], service: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one.message for one in found if one.service == service))
