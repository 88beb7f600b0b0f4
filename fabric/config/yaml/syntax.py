"""The syntax of bindings: `${env:X}`, `${env:X,default}`, `${stage}`, `${secret:KEY}`,
`${param:NAME}`, `${file:PATH}`."""

import re

NAME = r"[A-Za-z_][A-Za-z0-9_]*"
# Also the pattern of the JSON Schema, so plain enough for both Python and JavaScript.
_PLAIN = r"(env|secret|param):[A-Za-z_]|file:[^${}\s]|stage\}"
_REFERENCE = (
    r"(aws|cfn(\([a-z0-9-]+\))?|cfn-export|function|secretsmanager|service|ssm|stack|tf):[^:${}\s]"
)
BINDING = rf"\$\{{({_PLAIN}|{_REFERENCE})"
_BINDING = re.compile(rf"\$\{{({_PLAIN})")
_UNREAD = re.compile(rf"\$\{{({_REFERENCE})")


def has_binding(text: str) -> bool:
    return "${" in text and _BINDING.search(text) is not None


def has_unread_reference(text: str) -> bool:
    """Return whether a text contains a reference, which stays as it is if it is not read."""
    return "${" in text and _UNREAD.search(text) is not None


def format_excerpt(text: str, limit: int = 60) -> str:
    """Format an excerpt of a file for a message: short, without terminal control characters."""
    cut = text if len(text) <= limit else text[: limit - 1] + "…"
    return "".join(sign if sign.isprintable() else f"\\x{ord(sign):02x}" for sign in cut)
