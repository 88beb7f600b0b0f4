"""Problems: what failed, where, and the remedy. Every layer can raise them."""

from collections.abc import Iterable
from enum import IntEnum

from msgspec import Struct
from msgspec.structs import replace


class ExitCode(IntEnum):
    OK = 0
    FAILED = 1
    PARTIAL = 2
    NOT_RUNNING = 3
    USAGE = 64
    INVALID = 65
    UNREACHABLE = 69
    CANNOT_WRITE = 73
    LOCKED = 75
    NO_CREDENTIALS = 77
    INTERRUPTED = 130


class Place(Struct, frozen=True):
    """A place in a file. Line and column count from 1; 0 means the whole file."""

    file: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        if not self.line:
            return self.file
        return (
            f"{self.file}:{self.line}:{self.column}" if self.column else f"{self.file}:{self.line}"
        )


class ConfigSpot(Struct, frozen=True):
    """A config location: a function and one of its triggers. Without a function it means the
    service."""

    function: str = ""
    trigger: int | None = None


class Problem(Struct, frozen=True):
    """One finding. `code` is `<area>/<kebab-case>` and never changes its meaning.

    With the config's text, `about` is converted to `where`.
    """

    code: str
    message: str
    hint: str = ""
    where: Place | None = None
    frame: str = ""
    about: ConfigSpot | None = None
    # The service that is concerned, where several are planned together.
    service: str = ""

    def of(self, service: str) -> "Problem":
        return replace(self, service=service)


def drop_repeated_problems(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Drop repeated problems, because several services or targets can share one. The one with a
    place is kept."""
    listed = dict.fromkeys(one.of("") for one in problems)
    placed = {(one.code, one.message) for one in listed if one.where}
    return tuple(one for one in listed if one.where or (one.code, one.message) not in placed)


def merge_missing_credentials(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Keep the first of several problems about the same missing credentials."""
    first: dict[object, Problem] = {}
    for one in problems:
        is_missing = one.code == "credentials/missing"
        first.setdefault((one.code, one.hint) if is_missing else one, one)
    return tuple(first.values())


_AREAS = {
    "usage": ExitCode.USAGE,
    "config": ExitCode.INVALID,
    "compose": ExitCode.INVALID,
    "input": ExitCode.INVALID,
    "backend": ExitCode.UNREACHABLE,
    "disk": ExitCode.CANNOT_WRITE,
    "lock": ExitCode.LOCKED,
    "credentials": ExitCode.NO_CREDENTIALS,
}
_CODES = {
    "run/interrupted": ExitCode.INTERRUPTED,
    "run/partial": ExitCode.PARTIAL,
    "router/bad-percent": ExitCode.USAGE,
    "provider/unreachable": ExitCode.UNREACHABLE,
    "source/unreachable": ExitCode.UNREACHABLE,
    "executor/unreachable": ExitCode.UNREACHABLE,
    "git/unreachable": ExitCode.UNREACHABLE,
    "git/submodule": ExitCode.UNREACHABLE,
    "git/commit-missing": ExitCode.INVALID,
    "import/unreadable": ExitCode.INVALID,
    "import/no-functions": ExitCode.INVALID,
    "image/unreachable": ExitCode.UNREACHABLE,
    "image/bad-base": ExitCode.INVALID,
    "image/bad-name": ExitCode.INVALID,
    "image/no-entrypoint": ExitCode.INVALID,
    "image/no-platform": ExitCode.INVALID,
    "image/not-found": ExitCode.INVALID,
    "executor/no-workers": ExitCode.UNREACHABLE,
}


def exit_code_of(problem: Problem) -> ExitCode:
    """Return the exit code of a problem code."""
    if problem.code in _CODES:
        return _CODES[problem.code]
    return _AREAS.get(problem.code.partition("/")[0], ExitCode.FAILED)


class FabricError(Exception):
    """Every expected failure: one or many problems, raised once they are all gathered."""

    def __init__(self, *problems: Problem) -> None:
        super().__init__("; ".join(problem.message for problem in problems))
        self.problems = problems

    @property
    def first(self) -> Problem:
        return self.problems[0]

    @property
    def exit_code(self) -> ExitCode:
        return exit_code_of(self.first)


def raise_if_any(problems: Iterable[Problem]) -> None:
    """Raise all problems together, if there are any."""
    found = tuple(problems)
    if found:
        raise FabricError(*found)


class WithheldError(FabricError):
    """Nothing was tried because a requirement of the whole run is missing. Reported once."""

    def __init__(self, problems: tuple[Problem, ...], *, is_told: bool) -> None:
        super().__init__(*problems)
        self.is_told = is_told


class OfflineError(FabricError):
    """A service could not be asked: the network or valid credentials are missing."""


class UntouchedError(FabricError):
    """The request was rejected before any call, so the known state is unchanged."""


def replace_problems(error: FabricError, problems: Iterable[Problem]) -> FabricError:
    """Replace the problems of an error. Whether a call was made stays known."""
    kind = UntouchedError if isinstance(error, UntouchedError) else FabricError
    return kind(*problems)


class StoppedError(FabricError):
    """The run was stopped before this was begun."""
