"""The facts of a project that a run needs beside the graph."""

from msgspec import Struct

from fabric.model.problems import Problem


class ProjectInfo(Struct, frozen=True):
    workspace: str
    stage: str
    warnings: tuple[Problem, ...] = ()
