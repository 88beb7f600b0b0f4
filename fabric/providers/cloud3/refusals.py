"""Log Analytics error responses as problems."""

from typing import Optional

from msgspec import Struct

from fabric.model.problems import Problem
from fabric.providers.refused_calls import Quoted, RefusedCallError, format_generic_hint

_LOGIN, _RIGHTS, _NOT_FOUND = 401, 403, 404


class Cloud3Fault(Struct, frozen=True):
    """An error. The innermost error has the actual cause."""

    code: str = ""
    message: str = ""
    innererror: Optional["Cloud3Fault"] = None

    @property
    def words(self) -> str:
        inner = self.innererror.words if self.innererror else ""
        return f"{self.message} {inner}".strip()


class Cloud3Refusal(Struct, frozen=True):
    error: Cloud3Fault = Cloud3Fault()


def classify_refusal(whose: str, error: RefusedCallError, quoted: Quoted) -> Problem:
    words = f"{whose}: `{error.call}` was rejected, {quoted(error.words)}"
    if error.status == _LOGIN:
        hint = (
            "check `CLOUD3_ACCESS_TOKEN`: it expires after one hour and must be valid for Log "
            "Analytics"
        )
        return Problem("credentials/refused", words, hint)
    if error.status == _RIGHTS:
        hint = "grant the token's identity permission to read logs of the workspace"
        return Problem("credentials/refused", words, hint)
    if error.status == _NOT_FOUND:
        return Problem("provider/refused", words, "check `CLOUD3_LOG_ANALYTICS_WORKSPACE_ID`")
    return Problem("provider/refused", words, format_generic_hint("Azure"))
