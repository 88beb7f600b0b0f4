"""Google Cloud error responses as problems with a cause and a hint."""

from msgspec import Struct

from fabric.model.problems import Problem
from fabric.providers.core.errors import Quoted, RefusedCallError, format_generic_hint

_LOGIN, _RIGHTS = 401, 403
DISABLED = "SERVICE_DISABLED"
_POLICY = "permitted customer"


class FaultDetail(Struct, frozen=True):
    reason: str = ""


class Cloud2Fault(Struct, frozen=True):
    """An error."""

    code: int = 0
    message: str = ""
    # Its name.
    status: str = ""
    details: tuple[FaultDetail, ...] = ()

    @property
    def codes(self) -> frozenset[str]:
        return frozenset((self.status, *(one.reason for one in self.details))) - {""}


class Cloud2RefusedError(RefusedCallError):
    def __init__(self, status: int, fault: Cloud2Fault, call: str) -> None:
        words = " ".join(filter(None, (fault.status, fault.message)))
        super().__init__(status, words, call, fault.codes)


def classify_refusal(whose: str, error: RefusedCallError, quoted: Quoted) -> Problem:
    words = f"{whose}: `{error.call}` was rejected, {quoted(error.words)}"
    if error.status == _LOGIN:
        hint = (
            "check `CLOUD2_ACCESS_TOKEN`, which expires after one hour, or use "
            "`CLOUD2_SERVICE_ACCOUNT_KEY`"
        )
        return Problem("credentials/refused", words, hint)
    if DISABLED in error.codes:
        return Problem("provider/refused", words, "enable this API for the project")
    if error.status == _RIGHTS:
        hint = "check the project and the permissions listed in the Google Cloud Functions guide"
        return Problem("credentials/refused", words, hint)
    if _POLICY in error.words:
        hint = "ask your organization for an exception: its policy forbids public functions"
        return Problem("provider/refused", words, hint)
    return Problem("provider/refused", words, format_generic_hint("Google Cloud"))
