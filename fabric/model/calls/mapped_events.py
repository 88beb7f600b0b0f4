"""Routes with `integration: lambda` of REST APIs on AWS: the request becomes an event without a
proxy, and errors of the function become statuses. The API and local runs share this."""

import re

INTEGRATION = "lambda"
JSON, FORM = "application/json", "application/x-www-form-urlencoded"
_MARKED = (400, 401, 403, 404, 422, 500, 502, 504)
_ALSO = {
    500: r"[\s\S]*Process\s?exited\s?before\s?completing\s?request[\s\S]*",
    504: r".*Task timed out after \d+\.\d+ seconds$",
}
# Statuses by the pattern that the whole message of an error matches.
ERROR_STATUSES = {
    "|".join(filter(None, (rf"[\s\S]*\[{status}\][\s\S]*", _ALSO.get(status, "")))): status
    for status in _MARKED
}


def find_error_status(message: str) -> int:
    """Return the status of an error. One without a known status in its message has 200."""
    found = (one for pattern, one in ERROR_STATUSES.items() if re.fullmatch(pattern, message))
    return next(found, 200)
