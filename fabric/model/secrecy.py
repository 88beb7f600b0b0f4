"""What must not be shown: names that look like credentials, and passwords inside URLs."""

import re

REDACTED = "[REDACTED]"

_NAME = re.compile(r"TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|_KEY(?![A-Z])|API_?KEY", re.IGNORECASE)
_USERINFO = re.compile(r"(?<=://)[^\s/?#@]*(?:@[^\s/?#@]*)*@")


def looks_secret(name: str) -> bool:
    """Whether a variable of this name most likely holds a credential."""
    return _NAME.search(name) is not None


def without_userinfo(text: str) -> str:
    """The text with `user:password@` of every URL in it hidden."""
    return _USERINFO.sub(f"{REDACTED}@", text) if "://" in text else text
