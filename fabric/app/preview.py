"""What a look at a project came to: nothing was run, locked or written for it."""

from msgspec import Struct

from fabric.app.project.compiled import Compiled
from fabric.engine.memory.made_elsewhere import NOTHING, MadeElsewhere
from fabric.graph.plan import Plan
from fabric.model.problems import Problem


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
