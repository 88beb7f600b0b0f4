"""An HTTP request from command-line options."""

from collections.abc import Sequence
from urllib.parse import quote, urlencode

from msgspec import Struct

from fabric.model.problems import FabricError, Problem
from fabric.system.http.requests import RequestHead, ServedRequest

_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
_SAFE = "/%:@!$&'()*+,;=~-._"


class HttpInput(Struct, frozen=True):
    """An HTTP request. `query` and `headers` are pairs in the given order."""

    method: str
    target: str
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""

    def request(self) -> ServedRequest:
        names = {name for name, _ in self.headers}
        host = () if "host" in names else (("host", "localhost"),)
        head = RequestHead(
            method=self.method,
            target=self.target,
            headers=(*host, *self.headers),
            size=len(self.body),
        )
        return ServedRequest(head, self.body)


def parse_http_input(
    method: str, path: str, query: Sequence[str], headers: Sequence[str], body: str
) -> HttpInput:
    """Parse query options `NAME=VALUE` and header options `NAME: VALUE`."""
    taken = (method or ("POST" if body else "GET")).upper()
    if taken not in _METHODS:
        hint = f"use one of {', '.join(_METHODS)}"
        raise FabricError(
            Problem("usage/bad-value", f"invalid value for --method: `{method}`", hint=hint)
        )
    if not path.startswith("/"):
        hint = "use a path that starts with `/`, such as --path /users/7"
        raise FabricError(Problem("usage/bad-value", f"invalid value for --path: `{path}`", hint))
    where, _, asked = path.partition("?")
    more = urlencode([_parse_pair(one, "=", "--query") for one in query])
    whole = "&".join(filter(None, (asked, more)))
    target = quote(where, safe=_SAFE) + (f"?{whole}" if whole else "")
    given = [_parse_pair(one, ":", "--header") for one in headers]
    lower = tuple((name.lower(), value) for name, value in given)
    has_type = any(name == "content-type" for name, _ in lower)
    kind = (("content-type", "application/json"),) if body and not has_type else ()
    return HttpInput(taken, target, (*lower, *kind), body.encode())


def _parse_pair(word: str, sign: str, option: str) -> tuple[str, str]:
    name, found, value = word.partition(sign)
    if not found or not name.strip():
        form = "NAME=VALUE" if sign == "=" else "'NAME: VALUE'"
        message = f"invalid value for {option}: `{word}`"
        raise FabricError(Problem("usage/bad-value", message, hint=f"use the form {option} {form}"))
    text = value if sign == "=" else value.strip()
    if any(ord(one) < 0x20 for one in text if sign == ":"):  # noqa: PLR2004 - controls
        raise FabricError(
            Problem(
                "usage/bad-value",
                f"invalid value for {option}: `{name}` contains a control character",
            )
        )
    return name if sign == "=" else name.strip(), text
