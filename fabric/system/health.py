"""One question to an address: does it answer as something that is well?"""

import http.client
import time
import urllib.error
import urllib.request

_SECONDS = 10.0
_TRIES = 3
_PAUSE = 1.0


def answers(url: str) -> str:
    """Empty when it answers with success; else what it does instead. Asks a few times."""
    said = ""
    for attempt in range(_TRIES):
        if attempt:
            time.sleep(_PAUSE)
        said = _asked(url)
        if not said:
            break
    return said


def _asked(url: str) -> str:
    if not url.startswith(("http://", "https://")):
        return "is no address that can be asked"
    try:
        with urllib.request.urlopen(url, timeout=_SECONDS):  # noqa: S310 - the scheme is checked
            return ""
    except urllib.error.HTTPError as error:
        error.close()
        return f"answers {error.code}"
    except (OSError, http.client.HTTPException, ValueError) as error:
        return f"cannot be reached ({getattr(error, 'reason', error)})"
