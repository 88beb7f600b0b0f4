"""msgspec without what it does not need here: `typing` has all that it takes from elsewhere.

Built-ins only, beside msgspec itself. `typing_extensions` is there where some library wants it,
and brings `inspect` and `ast` with it: a fifth of all that a run of a few tasks imports.
"""

import sys

_UNWANTED = "typing_extensions"


def import_msgspec() -> None:
    """To be called before anything else imports it; a no-op later."""
    if _UNWANTED in sys.modules:
        return
    # So it is refused, and msgspec takes `typing`.
    sys.modules[_UNWANTED] = None  # type: ignore[assignment]
    try:
        import msgspec  # noqa: F401
    finally:
        del sys.modules[_UNWANTED]
