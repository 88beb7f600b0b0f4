"""Vercel error responses as problems with a cause and a hint."""

import re

from fabric.model.problems import Problem
from fabric.providers.core.errors import Quoted, RefusedCallError, format_generic_hint

# Whatever is below it may be gone by itself.
_OF_THE_PROJECT = re.compile(r"GET /v9/projects/[^/]+(/domains)?")
_LOGIN_STATUS = frozenset((401, 403))


def classify_refusal(whose: str, error: RefusedCallError, quoted: Quoted) -> Problem:
    words = f"{whose}: `{error.call}` was rejected, {error.status} {quoted(error.words)}"
    if error.status in _LOGIN_STATUS:
        hint = (
            "check `HOST1_TOKEN` and its access to the project `HOST1_PROJECT_ID`, and "
            "`HOST1_ORG_ID` for a project of a team"
        )
        return Problem("credentials/refused", words, hint)
    if error.is_gone and _OF_THE_PROJECT.fullmatch(error.call):
        hint = (
            "check that `HOST1_PROJECT_ID` is a project ID the token can access, and "
            "`HOST1_ORG_ID` the ID of its team"
        )
        return Problem("credentials/refused", words, hint)
    return Problem("provider/refused", words, format_generic_hint("Vercel"))
