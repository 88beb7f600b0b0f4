"""The syntax of bindings: `${env:X}`, `${env:X,default}`, `${stage}`, `${secret:KEY}`,
`${param:NAME}`, `${file:PATH}`."""

import re

NAME = r"[A-Za-z_][A-Za-z0-9_]*"
# Also the pattern of the JSON Schema, so plain enough for both Python and JavaScript.
BINDING = r"\$\{((env|secret|param):[A-Za-z_]|file:[^${}\s]|stage\})"
_BINDING = re.compile(BINDING)


def has_binding(text: str) -> bool:
    return "${" in text and _BINDING.search(text) is not None


def format_excerpt(text: str, limit: int = 60) -> str:
    """Format an excerpt of a file for a message: short, without terminal control characters."""
    cut = text if len(text) <= limit else text[: limit - 1] + "…"
    return "".join(sign if sign.isprintable() else f"\\x{ord(sign):02x}" for sign in cut)
