"""What must not be shown: names that look like credentials, and passwords inside URLs."""

import json
import re
from collections.abc import Collection

REDACTED = "[REDACTED]"

_NAME = re.compile(r"TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|_KEY(?![A-Z])|API_?KEY", re.IGNORECASE)
_USERINFO = re.compile(r"(?<=://)[^\s/?#@]*(?:@[^\s/?#@]*)*@")


def looks_secret(name: str) -> bool:
    """Whether a variable of this name most likely holds a credential."""
    return _NAME.search(name) is not None


def without_userinfo(text: str) -> str:
    """The text with `user:password@` of every URL in it hidden."""
    return _USERINFO.sub(f"{REDACTED}@", text) if "://" in text else text


def without_values(text: str, values: Collection[str]) -> str:
    """The text with each of these values in it hidden, also as a part of JSON."""
    forms = {form for value in values if value for form in (value, _in_json(value))}
    # The longest first: one secret may be a part of another.
    for form in sorted(forms, key=lambda one: (-len(one), one)):
        if form in text:
            text = text.replace(form, REDACTED)
    return text


def _in_json(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)[1:-1]
