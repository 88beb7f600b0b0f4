"""Cloudflare error responses as problems with a cause and a hint."""

from msgspec import Struct

from fabric.model.problems import Problem
from fabric.providers.core.errors import Quoted, RefusedCallError, format_generic_hint

_UPLOAD = "10021"
_NO_ROUTE = "7003"
_LOGIN = frozenset(("10000", "9106", "9109", "6003", "6111"))
_LOGIN_STATUS = frozenset((401, 403))


class Edge1Fault(Struct, frozen=True):
    """One error of a response."""

    code: int = 0
    message: str = ""

    @property
    def words(self) -> str:
        """The message. For an upload, only the runtime's own message."""
        return self.message if str(self.code) == _UPLOAD else f"{self.code} {self.message}"


class Edge1RefusedError(RefusedCallError):
    def __init__(self, status: int, faults: tuple[Edge1Fault, ...], call: str) -> None:
        codes = frozenset(str(one.code) for one in faults)
        super().__init__(status, "; ".join(one.words for one in faults), call, codes)

    @property
    def is_gone(self) -> bool:
        """Whether the resource is missing. An unknown account or zone does not count."""
        return super().is_gone and _NO_ROUTE not in self.codes


def classify_refusal(whose: str, error: RefusedCallError, quoted: Quoted) -> Problem:
    words = f"{whose}: `{error.call}` was rejected, {quoted(error.words)}"
    if error.codes & _LOGIN or error.status in _LOGIN_STATUS:
        hint = "check `EDGE1_API_TOKEN` and its permission to edit Workers scripts of this account"
        return Problem("credentials/refused", words, hint)
    if _NO_ROUTE in error.codes:
        is_zone = "/zones/" in error.call
        name = "EDGE1_ZONE_ID" if is_zone else "EDGE1_ACCOUNT_ID"
        hint = f"check `{name}`: use the ID of 32 characters, not the name"
        return Problem("credentials/refused", words, hint)
    if _UPLOAD in error.codes:
        message = f"{whose}: the upload was rejected: {quoted(error.words)}"
        return Problem("provider/refused", message, "this is a message from the Workers runtime")
    return Problem("provider/refused", words, format_generic_hint("Cloudflare"))
