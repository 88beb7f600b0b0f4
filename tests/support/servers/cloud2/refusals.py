"""How Google's interfaces say no."""

from typing import Any


class RefusedRequestError(Exception):
    def __init__(self, status: int, word: str, message: str, reason: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.word = word
        self.reason = reason

    @property
    def document(self) -> dict[str, Any]:
        details = [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": self.reason}]
        more = {"details": details} if self.reason else {}
        error = {"code": self.status, "message": str(self), "status": self.word, **more}
        return {"error": error}


class CutOffError(Exception):
    """The connection ends without an answer, or with a half of one."""

    def __init__(self, content: bytes = b"") -> None:
        super().__init__()
        self.content = content


def not_found(name: str) -> RefusedRequestError:
    return RefusedRequestError(404, "NOT_FOUND", f"Resource '{name}' was not found")


def invalid(message: str) -> RefusedRequestError:
    return RefusedRequestError(400, "INVALID_ARGUMENT", message)


class BuildFailedError(Exception):
    """What an operation ends with."""
