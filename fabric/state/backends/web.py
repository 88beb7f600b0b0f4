"""Common parts of the two HTTP stores: authorized calls and their problems."""

from fabric.state.backends.failures import (
    report_unreachable,
    store_failure_error,
    store_refusal_error,
)
from fabric.system.http.http_client import Http, HttpReply, HttpRequest

_LOCKED_OUT = (401, 403)
_MOVED = (404, 409, 412)
_WORDS_END = 300


class Web:
    def __init__(self, http: Http, place: str) -> None:
        self._http = http
        self._place = place

    def ask(self, request: HttpRequest) -> HttpReply:
        """Call the store. Returns every reply about the state; callers handle 404, 409 and 412."""
        with report_unreachable(self._place):
            reply = self._http.send(request)
        if reply.status in _LOCKED_OUT:
            raise store_refusal_error(self._place, f"status {reply.status}: {_format_reply(reply)}")
        if not reply.ok and reply.status not in _MOVED:
            raise store_failure_error(self._place, f"status {reply.status}: {_format_reply(reply)}")
        return reply

    def close(self) -> None:
        self._http.close()


def _format_reply(reply: HttpReply) -> str:
    if code := reply.headers.get("x-ms-error-code"):
        return code
    return " ".join(reply.content[:_WORDS_END].decode(errors="replace").split())
