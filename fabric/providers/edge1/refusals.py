"""What edge1's interface answers instead of doing as asked, in words: who, what, and what to do."""

import contextlib
from collections.abc import Callable, Iterator
from typing import TypeAlias

from msgspec import Struct

from fabric.model.problems import FabricError, Problem
from fabric.system.retry import TransientError

# What is shown of words that are not ours.
Quoted: TypeAlias = Callable[[str], str]
_NOT_FOUND = 404
_UPLOAD = 10021
_NO_ROUTE = 7003
_NO_WORKER = 10007
_LOGIN = frozenset((10000, 9106, 9109, 6003, 6111))
_LOGIN_STATUS = frozenset((401, 403))


class ApiError(Struct, frozen=True):
    """One of the errors of an answer."""

    code: int = 0
    message: str = ""


class RefusedCallError(Exception):
    """An answer that another try would not change; `call` is its method and path."""

    def __init__(self, status: int, errors: tuple[ApiError, ...], call: str) -> None:
        super().__init__(call)
        self.status = status
        self.errors = errors
        self.call = call

    @property
    def codes(self) -> frozenset[int]:
        return frozenset(one.code for one in self.errors)

    @property
    def words(self) -> str:
        """As they came: whoever shows them hides what must not be shown, and shortens the rest."""
        said = "; ".join(f"{one.code} {one.message}" for one in self.errors)
        return said or str(self.status)

    @property
    def is_gone(self) -> bool:
        """The thing itself is not there: an unknown account or zone is another matter."""
        return self.status == _NOT_FOUND and _NO_ROUTE not in self.codes


@contextlib.contextmanager
def explained(whose: str, quoted: Quoted) -> Iterator[None]:
    """What nobody inside has answered, as problems of `whose`."""
    try:
        yield
    except RefusedCallError as error:
        raise FabricError(_problem(whose, error, quoted)) from error
    except TransientError as error:
        hint = "check the network and the endpoint, then run the command again"
        message = f"{whose}: {quoted(str(error))}"
        raise FabricError(Problem("provider/unreachable", message, hint)) from error


@contextlib.contextmanager
def unless_gone() -> Iterator[None]:
    """Around a call whose refusal because nothing is there says that all is as it should be."""
    try:
        yield
    except RefusedCallError as error:
        if not error.is_gone:
            raise


def _problem(whose: str, error: RefusedCallError, quoted: Quoted) -> Problem:
    words = f"{whose}: `{error.call}` was refused, {quoted(error.words)}"
    if error.codes & _LOGIN or error.status in _LOGIN_STATUS:
        hint = "check `EDGE1_API_TOKEN`, and that it may edit Workers scripts of this account"
        return Problem("credentials/refused", words, hint)
    if _NO_ROUTE in error.codes:
        is_zone = "/zones/" in error.call
        name = "EDGE1_ZONE_ID" if is_zone else "EDGE1_ACCOUNT_ID"
        hint = f"check `{name}`: it is the id, 32 letters and digits, not the name"
        return Problem("credentials/refused", words, hint)
    if _UPLOAD in error.codes:
        said = quoted("; ".join(one.message for one in error.errors))
        message = f"{whose}: the upload was refused: {said}"
        return Problem("provider/refused", message, "the words are those of the runtime there")
    return Problem("provider/refused", words)
