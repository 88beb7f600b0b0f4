"""The startup status that a daemon sends once to its starter."""

from msgspec import Struct

from fabric.model.problems import Problem


class StartNote(Struct, frozen=True):
    """How a start went: it serves at a port, another one did already, or it cannot."""

    port: int = 0
    pid: int = 0
    is_other: bool = False
    problems: tuple[Problem, ...] = ()
