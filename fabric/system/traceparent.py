"""Parse the caller's span from a `traceparent` header (W3C Trace Context, version 00 and compatible
later ones). A malformed header is ignored."""

import re

from fabric.system.tracing import SpanPlace

_FORM = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?")
_FIRST, _INVALID = "00", "ff"
_SAMPLED = 1


def place_said(traceparent: str) -> SpanPlace | None:
    found = _FORM.fullmatch(traceparent)
    if found is None:
        return None
    version, trace, span, flags, more = found.groups()
    if version == _INVALID or (version == _FIRST and more is not None):
        return None
    if not (trace.strip("0") and span.strip("0")):
        return None
    return SpanPlace(trace, span, bool(int(flags, 16) & _SAMPLED))
