"""A request with its response; each is reported exactly once."""

from collections.abc import Callable
from http import HTTPStatus

from msgspec import Struct

from fabric.model.outcomes.json_struct import JsonObject
from fabric.model.problems import Problem
from fabric.runtimes.calls.call_end import NO_CALL, CallEnd, Failing
from fabric.system.http.answers import ServedAnswer, build_json_answer
from fabric.system.http.connection import SendReply
from fabric.system.http.requests import RequestHead, ServedRequest

_STATUS = {
    Failing.THREW: HTTPStatus.INTERNAL_SERVER_ERROR,
    Failing.CANNOT_START: HTTPStatus.INTERNAL_SERVER_ERROR,
    Failing.TIMED_OUT: HTTPStatus.GATEWAY_TIMEOUT,
}


class ServedCall(Struct, frozen=True):
    """One answered request; `function` is empty if none was called."""

    method: str
    path: str
    status: int
    function: str = ""
    end: CallEnd = NO_CALL
    # About the response.
    warning: str = ""


class Exchange(Struct, frozen=True):
    request: ServedRequest
    reply: SendReply
    tell: Callable[[ServedCall], None]

    @property
    def head(self) -> RequestHead:
        return self.request.head

    def send(
        self, answer: ServedAnswer, name: str = "", end: CallEnd = NO_CALL, warning: str = ""
    ) -> None:
        self.reply(answer)
        head = self.head
        self.tell(
            ServedCall(
                method=head.method,
                path=head.path,
                status=answer.status,
                function=name,
                end=end,
                warning=warning,
            )
        )

    def refuse(self, status: int, message: str, more: JsonObject | None = None) -> None:
        self.send(build_json_answer(status, {"message": message, **(more or {})}))


def build_failure_answer(head: RequestHead, name: str, end: CallEnd) -> ServedAnswer | None:
    failure = end.failure
    if failure is None:
        return None
    status = _STATUS.get(failure.why, HTTPStatus.BAD_GATEWAY)
    return _build_error_answer(head, status, f"`{name}` {failure.message}")


def build_problem_answer(head: RequestHead, problem: Problem) -> ServedAnswer:
    where = f"{problem.where}: " if problem.where else ""
    text = f"{where}{problem.message}"
    return _build_error_answer(head, HTTPStatus.INTERNAL_SERVER_ERROR, text, problem.frame)


def _build_error_answer(
    head: RequestHead, status: int, message: str, frame: str = ""
) -> ServedAnswer:
    """Build an error as JSON, or as text for clients that prefer it."""
    accepted = head.header("accept")
    if "text/" in accepted and "json" not in accepted:
        text = "\n\n".join(filter(None, (message, frame))) + "\n"
        kind = (("content-type", "text/plain; charset=utf-8"),)
        return ServedAnswer(status, kind, text.encode(errors="replace"))
    return build_json_answer(status, {"error": message, **({"frame": frame} if frame else {})})
