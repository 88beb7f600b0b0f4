"""Errors of state stores as messages. They never contain credentials."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from fabric.model.distribution import Extra, PackageNeed
from fabric.model.problems import FabricError, Problem
from fabric.state.contract import Stored, Version
from fabric.system.optional_packages import require_packages
from fabric.system.retry import TransientError

_WHY_END = 200


class NoAccessError(FabricError):
    """This machine has no credentials for the state store."""


def unreachable_store_error(place: str, why: str) -> FabricError:
    hint = "check the network and the endpoint, then run the command again"
    return FabricError(Problem("backend/unreachable", f"cannot reach `{place}`: {why}", hint=hint))


CHECK_MODE = "check the owner and the mode of the file and its parent directories"


def unusable_state_error(path: Path, why: str, hint: str = CHECK_MODE) -> FabricError:
    """Return the error for unreadable local state. The network is not the cause."""
    message = f"cannot read the state in `{path}`: {why}"
    return FabricError(Problem("backend/unreachable", message, hint=hint))


def file_access_error(path: Path, error: OSError) -> FabricError:
    return unusable_state_error(path, (error.strerror or str(error)).lower())


def store_refusal_error(place: str, why: str) -> FabricError:
    hint = "check the credentials of the state backend and their permissions"
    return FabricError(
        Problem("credentials/refused", f"access to `{place}` denied: {why}", hint=hint)
    )


def missing_object_error(place: str, what: str) -> FabricError:
    hint = f"create the {what}, or set another one under `backend`"
    return FabricError(Problem("backend/missing", f"`{place}`: {what} not found", hint=hint))


def store_failure_error(place: str, why: str) -> FabricError:
    return FabricError(Problem("backend/failed", f"request to `{place}` failed: {why}"))


def no_credentials_error(place: str, names: str) -> NoAccessError:
    return NoAccessError(
        Problem("credentials/missing", f"missing credentials for `{place}`", hint=f"set {names}")
    )


def bad_url_error(name: str, why: str) -> FabricError:
    """Return the error for an invalid URL. The URL is not shown, because it can contain a
    password."""
    return FabricError(Problem("backend/bad-url", f"invalid URL in `{name}`: {why}"))


@contextlib.contextmanager
def report_unreachable(place: str) -> Iterator[None]:
    """Convert errors that are still transient after all retries into an unreachable-store error."""
    try:
        yield
    except TransientError as error:
        raise unreachable_store_error(place, str(error)) from error


@contextlib.contextmanager
def report_malformed_answer(place: str) -> Iterator[None]:
    """Convert parsing errors of a response into a store failure."""
    try:
        yield
    # A parser of XML ends in a SyntaxError.
    except (
        ValueError,
        TypeError,
        LookupError,
        AttributeError,
        SyntaxError,
        RecursionError,
    ) as error:
        why = f"{type(error).__name__}: {' '.join(str(error).split())}"[:_WHY_END]
        raise store_failure_error(place, f"invalid response ({why})") from error


def require_new_page(mark: object, last: str | None) -> str:
    """Require a new page token. A repeated token would cause an endless loop."""
    if not isinstance(mark, str) or mark == last:
        raise ValueError("a list has an invalid continuation token")
    return mark


@contextlib.contextmanager
def import_extra(name: Extra) -> Iterator[None]:
    """Wrap imports of packages that only one backend needs."""
    try:
        with require_packages(
            PackageNeed("this state backend requires", name, "backend/not-installed")
        ):
            yield
    except FabricError as error:
        raise NoAccessError(*error.problems) from error


NOTHING = "nothing"


class Unavailable:
    """For previews on machines without credentials for the state."""

    @property
    def kind(self) -> str:
        return NOTHING

    @property
    def place(self) -> str:
        return "nowhere"

    def read(self, key: str) -> Stored | None:
        del key
        return None

    def write(self, key: str, content: bytes, expected: Version | None) -> Version:
        del key, content, expected
        raise FabricError(_unavailable_problem())

    def delete(self, key: str, expected: Version) -> None:
        del key, expected
        raise FabricError(_unavailable_problem())

    def list(self, prefix: str) -> tuple[str, ...]:
        del prefix
        return ()

    def close(self) -> None:
        return


def _unavailable_problem() -> Problem:
    return Problem("backend/unreachable", "no state backend available to write to")
