"""Alibaba Cloud error responses as problems with a cause and a hint."""

from fabric.model.problems import Problem
from fabric.providers.core.errors import Quoted, RefusedCallError, format_generic_hint

CONFLICT = 409
_LOGIN, _RIGHTS = 401, 403
_KEYS = frozenset(
    (
        *("SignatureDoesNotMatch", "SignatureNotMatch", "InvalidAccessKeyId", "MissingAccessKey"),
        *("InvalidAccessKeyId.NotFound", "InvalidAccessKeyId.Inactive", "InvalidAccessKeySecret"),
        *("IncompleteSignature", "InvalidSecurityToken"),
    )
)
_CLOCK = frozenset(("InvalidTimeStamp.Expired", "IllegalTimestamp", "InvalidTimeStamp"))


def classify_refusal(whose: str, error: RefusedCallError, quoted: Quoted) -> Problem:
    words = f"{whose}: `{error.call}` was rejected, {quoted(error.words)}"
    if error.codes & _CLOCK:
        hint = "check the time of this machine: requests are signed with it"
        return Problem("credentials/refused", words, hint)
    if error.codes & _KEYS or error.status == _LOGIN:
        hint = "check `CLOUD4_ACCESS_KEY_ID` and `CLOUD4_ACCESS_KEY_SECRET`"
        return Problem("credentials/refused", words, hint)
    if error.status == _RIGHTS:
        hint = "check the account and the permissions listed in the Function Compute guide"
        return Problem("credentials/refused", words, hint)
    return Problem("provider/refused", words, format_generic_hint("Alibaba Cloud"))
