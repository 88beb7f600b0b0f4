"""What this server says no with, written as each protocol of cloud1 writes an error."""

import json
from xml.sax.saxutils import escape

_JSON = frozenset({"json", "rest-json"})


class RefusalError(Exception):
    """A request that is answered with an error of a service."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


def not_found(message: str) -> RefusalError:
    return RefusalError(404, "ResourceNotFoundException", message)


def conflict(message: str) -> RefusalError:
    return RefusalError(409, "ResourceConflictException", message)


def wrong_value(message: str) -> RefusalError:
    return RefusalError(400, "InvalidParameterValueException", message)


def bad(message: str) -> RefusalError:
    """As API Gateway says it."""
    return RefusalError(400, "BadRequestException", message)


def not_written(message: str) -> RefusalError:
    """Nothing is made up: what this server does not do is an error of its own."""
    return RefusalError(501, "NotWrittenInThisServer", message)


def error_answer(protocol: str, refusal: RefusalError) -> tuple[int, dict[str, str], bytes]:
    if protocol in _JSON:
        headers = {"Content-Type": "application/json", "x-amzn-ErrorType": refusal.code}
        words = {"__type": refusal.code, "message": str(refusal), "Message": str(refusal)}
        return refusal.status, headers, json.dumps(words).encode()
    error = f"<Code>{escape(refusal.code)}</Code><Message>{escape(str(refusal))}</Message>"
    if protocol == "rest-xml":
        text = f"<Error>{error}<RequestId>strict</RequestId></Error>"
    else:
        text = (
            f"<ErrorResponse><Error><Type>Sender</Type>{error}</Error>"
            "<RequestId>strict</RequestId></ErrorResponse>"
        )
    return refusal.status, {"Content-Type": "text/xml"}, text.encode()
