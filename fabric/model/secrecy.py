"""What must not be shown: names that look like credentials, and passwords inside URLs."""

import functools
import json
import re
from collections.abc import Collection

REDACTED = "[REDACTED]"

_NAME = re.compile(r"TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|_KEY(?![A-Z])|API_?KEY", re.IGNORECASE)
# Bounded and possessive: a long line without a blank must not take quadratic time.
_ASSIGNED = re.compile(
    r"""((?:TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|_KEY(?![A-Z])|API_?KEY|ACCESS_?KEY)"""
    r"""[\w.-]{0,64}+["']?+[ \t]{0,4}+[:=][ \t]{0,4}+)"""
    r"""("[^"\n]{0,4096}+"?|'[^'\n]{0,4096}+'?|[^\s,;}]{1,4096}+)""",
    re.IGNORECASE,
)
_SHAPES = re.compile(
    r"""(?<=\bBearer )[\w.~+/=-]{8,}|(?<=\bBasic )[A-Za-z0-9+/=]{8,}"""
    r"""|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|\bgh[a-z]_\w{20,}|\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{8,}"""
    r"""|-----BEGIN [A-Z ]{0,32}PRIVATE KEY-----[^-]{0,16384}+(?:-----END [A-Z ]{0,32}-----)?"""
)
_USERINFO = re.compile(r"(?<=://)[^\s/?#@]*(?:@[^\s/?#@]*)*@")


@functools.lru_cache(4096)  # every call of a provider looks through the same environment
def looks_secret(name: str) -> bool:
    """Whether a variable of this name most likely holds a credential."""
    return _NAME.search(name) is not None


def without_userinfo(text: str) -> str:
    """The text with `user:password@` of every URL in it hidden."""
    return _USERINFO.sub(f"{REDACTED}@", text) if "://" in text else text


def without_credentials(text: str) -> str:
    """The text of a foreign tool with what looks like a credential hidden: by name or by form."""
    named = _ASSIGNED.sub(rf"\g<1>{REDACTED}", _SHAPES.sub(REDACTED, text))
    return without_userinfo(named)


def without_values(text: str, values: Collection[str]) -> str:
    """The text with each of these values in it hidden, also as a part of JSON."""
    forms = {form for value in values if value for form in (value, *_in_json(value))}
    # The longest first: one secret may be a part of another.
    for form in sorted(forms, key=lambda one: (-len(one), one)):
        if form in text:
            text = text.replace(form, REDACTED)
    return text


def _in_json(value: str) -> tuple[str, str]:
    """As writers of JSON spell it: letters beyond ASCII as they are, or escaped."""
    return json.dumps(value, ensure_ascii=False)[1:-1], json.dumps(value)[1:-1]
