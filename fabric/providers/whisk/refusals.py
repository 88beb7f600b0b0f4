"""OpenWhisk error responses as problems with a cause and a hint."""

from fabric.model.problems import Problem
from fabric.providers.refused_calls import Judged, Quoted, RefusedCallError, own_words

_LOGIN, _RIGHTS, _LARGE = 401, 403, 413
CONFLICT = 409


def judging(provider: str, login: str, rights: str) -> Judged:
    """Build a classifier. `login` is the hint for an invalid key, `rights` the one for missing
    permissions."""

    def judged(whose: str, error: RefusedCallError, quoted: Quoted) -> Problem:
        words = f"{whose}: `{error.call}` was rejected, {error.status} {quoted(error.words)}"
        hint = _HINTS.get(error.status)
        if error.status in (_LOGIN, _RIGHTS):
            hint = login if error.status == _LOGIN else rights
            return Problem("credentials/refused", words, hint)
        return Problem("provider/refused", words, hint or own_words(provider))

    return judged


_HINTS = {
    _LARGE: "include fewer files: an archive can have 48 MB in base64, or the limit of "
    "the installation"
}
