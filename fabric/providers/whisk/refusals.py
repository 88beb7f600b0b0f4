"""OpenWhisk error responses as problems with a cause and a hint."""

from fabric.model.problems import Problem
from fabric.providers.core.errors import Judged, Quoted, RefusedCallError, format_generic_hint

_LOGIN, _RIGHTS, _LARGE = 401, 403, 413
CONFLICT = 409


def build_refusal_classifier(provider: str, login: str, rights: str) -> Judged:
    """Build a classifier. `login` is the hint for an invalid key, `rights` the one for missing
    permissions."""

    def classify_refusal(whose: str, error: RefusedCallError, quoted: Quoted) -> Problem:
        words = f"{whose}: `{error.call}` was rejected, {error.status} {quoted(error.words)}"
        hint = _HINTS.get(error.status)
        if error.status in (_LOGIN, _RIGHTS):
            hint = login if error.status == _LOGIN else rights
            return Problem("credentials/refused", words, hint)
        return Problem("provider/refused", words, hint or format_generic_hint(provider))

    return classify_refusal


_HINTS = {
    _LARGE: "include fewer files: an archive can have 48 MB in base64, or the limit of "
    "the installation"
}
