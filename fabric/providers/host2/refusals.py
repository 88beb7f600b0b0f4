"""Netlify error responses as problems with a cause and a hint."""

import re

from fabric.model.problems import Problem
from fabric.providers.core.errors import Quoted, RefusedCallError, format_generic_hint

# Whatever is below it may be gone by itself.
_OF_THE_SITE = re.compile(r"GET /sites/[^/]+")
_LOGIN_STATUS = frozenset((401, 403))


def classify_refusal(whose: str, error: RefusedCallError, quoted: Quoted) -> Problem:
    words = f"{whose}: `{error.call}` was rejected, {error.status} {quoted(error.words)}"
    if error.status in _LOGIN_STATUS:
        hint = "check `HOST2_AUTH_TOKEN` and its permission to deploy to the site `HOST2_SITE_ID`"
        return Problem("credentials/refused", words, hint)
    if error.is_gone and _OF_THE_SITE.fullmatch(error.call):
        hint = "check that `HOST2_SITE_ID` is the ID of a site that the token can access"
        return Problem("credentials/refused", words, hint)
    return Problem("provider/refused", words, format_generic_hint("Netlify"))
