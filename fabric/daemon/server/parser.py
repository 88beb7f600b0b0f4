"""A request as it comes in: strict where two readers of the same bytes might differ."""

import re
from collections.abc import Callable

from msgspec import Struct
from waitress.adjustments import Adjustments
from waitress.parser import HTTPRequestParser, ParsingError

from fabric.daemon.http_types import ApiAnswer
from fabric.daemon.server.answers import (
    bad_request_answer,
    http_version_answer,
    parser_error_answer,
)
from fabric.daemon.server.gate import Admission, CallHead, too_large_answer

_ONCE = (b"host", b"content-length", b"transfer-encoding", b"x-api-key", b"origin")
_LONGEST_LENGTH = 15
_TOO_LARGE = 413
_VERSIONS = ("1.0", "1.1")
_BARE_NEWLINE = re.compile(rb"[^\r]\n")
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f]")

Admit = Callable[[CallHead, str], Admission]


_NO_CR = bad_request_answer("a header line ends without CR")


class ParserRules(Struct, frozen=True):
    """The parsing rules of a connection. `peer` and `local` are its endpoints."""

    admit: Admit
    new_id: Callable[[], str]
    peer: str
    local: str
    body_bytes: int


class StrictParser(HTTPRequestParser):  # type: ignore[misc]
    """`refused` is the answer of a rejected request, `admission` the gate's result. The gate is
    called after the headers."""

    def __init__(self, adj: Adjustments, rules: ParserRules) -> None:
        super().__init__(adj)
        self._rules = rules
        self.admission = Admission(rules.new_id(), rules.peer)
        self.refused: ApiAnswer | None = None
        self.path = self.command = ""

    def received(self, data: bytes) -> int:
        """Parse received data. Data after a rejected request is ignored."""
        was_head = not self.headers_finished
        begins = was_head and not self.header_plus
        consumed = int(super().received(data))
        if self.empty or (was_head and not (self.headers_finished or self.error)):
            if not self.empty and self._has_bare_newline(len(data)):
                self.refuse(_NO_CR)
            return consumed
        if self.error and self.error.code != _TOO_LARGE:
            why = parser_error_answer(
                self.error.code, self.error.body, self.adj.max_request_header_size
            )
            self.refuse(self.refused or why)
        elif begins and data[:1] == b"\n":
            self.refuse(_NO_CR)
        elif was_head:
            self._ask()
        elif self.error or (self.chunked and len(self.body_rcv) > self._rules.body_bytes):
            self.refuse(too_large_answer(self._rules.body_bytes))
        return len(data) if self.refused else consumed

    def _has_bare_newline(self, count: int) -> bool:
        """Whether one is among the newest bytes of the head, which would never come to its end."""
        return bool(_BARE_NEWLINE.search(self.header_plus.lstrip()[-count - 1 :]))

    def _ask(self) -> None:
        """A body that is announced too large comes with headers that are judged first."""
        rules, length = self._rules, int(self.content_length)
        head = CallHead(
            method=self.command,
            path=self.path,
            headers=self.headers,
            peer=rules.peer,
            local=rules.local,
            length=length,
        )
        self.admission = rules.admit(head, self.admission.id)
        if self.admission.refused:
            self.refuse(self.admission.refused)

    def refuse(self, answer: ApiAnswer) -> None:
        """Read nothing more of the request and do not send `100 Continue`."""
        self.refused = answer
        self.completed = True
        self.expect_continue = False

    def parse_header(self, header_plus: bytes) -> None:
        _refuse_doubled(header_plus)
        try:
            super().parse_header(header_plus)
        except ValueError as error:
            raise ParsingError("invalid request target") from error
        if header_plus == _STAND_IN:
            return
        if self.version not in _VERSIONS:
            self.refused = (
                http_version_answer()
                if self.version
                else bad_request_answer("missing HTTP version")
            )
            raise ParsingError("version")
        self._refuse_unclear(header_plus)

    def _refuse_unclear(self, header_plus: bytes) -> None:
        names = _list_header_names(header_plus)
        host = self.headers.get("HOST", "")
        if self.version == "1.1" and not host:
            raise ParsingError("missing Host header")
        if b"transfer-encoding" in names and (b"content-length" in names or self.version == "1.0"):
            raise ParsingError("both Content-Length and Transfer-Encoding")
        if self.proxy_scheme and not self.proxy_netloc:
            raise ParsingError("the request target has no host")
        if self.proxy_netloc and self.proxy_netloc.lower() != host.strip().lower():
            raise ParsingError("the request target and Host differ")
        if not _is_plain(self.path):
            raise ParsingError("invalid path")


# What the parser under ours reads in place of headers that are too large.
_STAND_IN = b"GET / HTTP/1.0\r\n"


def _list_header_names(header_plus: bytes) -> list[bytes]:
    lines = header_plus.split(b"\r\n")[1:]
    return [line.partition(b":")[0].lower() for line in lines if line]


def _refuse_doubled(header_plus: bytes) -> None:
    lines = header_plus.split(b"\r\n")[1:]
    if any(line[:1] in (b" ", b"\t") for line in lines):
        raise ParsingError("folded header line")
    names = _list_header_names(header_plus)
    doubled = [one for one in _ONCE if names.count(one) > 1]
    if doubled:
        raise ParsingError(f"duplicate header {doubled[0].decode()}")
    for line in lines:
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length" and len(value.strip()) > _LONGEST_LENGTH:
            raise ParsingError("invalid Content-Length")
        if name.lower() == b"transfer-encoding" and b"," in value:
            raise ParsingError("more than one transfer encoding")


def _is_plain(path: str) -> bool:
    """Return whether the path is in normal form, so that gate and router see the same path."""
    try:
        text = path.encode("latin-1").decode()
    except UnicodeError:
        return False
    return path.startswith("/") and not path.startswith("//") and not _UNPRINTABLE.search(text)
