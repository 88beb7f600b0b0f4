"""A shared cache on a web server: the Turborepo artifact API as a byte store, or plain PUT and
GET."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING
from urllib.parse import quote

from msgspec import Struct

from fabric.model.distribution import Extra
from fabric.model.problems import FabricError
from fabric.model.secrets.secret import Secret
from fabric.remote.contract import (
    CarrierError,
    CarrierRefusedError,
    ObjectKind,
    ObjectName,
    OversizedError,
)
from fabric.state.backends.failures import import_extra
from fabric.system.http.http_client import PLAIN, UnreadableAnswerError, read_capped_content

if TYPE_CHECKING:
    import httpx

_GONE = (404, 410)
_LOCKED_OUT = (401, 403)
_OVERSIZED = 413
_GOOD, _OTHER = 200, 300
# How long one read or write of a connection may take. It bounds no call: whoever waits does.
_SECONDS = 30.0
_REDIRECTS = 3
_WORDS_END = 200
_OCTETS = "application/octet-stream"


class WebPlace(Struct, frozen=True):
    """A server: its base URL and credentials."""

    base: str
    token: Secret[str | None]
    # Required by some artifact API servers.
    team: str = ""


def build_turbo_urls(where: WebPlace) -> Callable[[ObjectName], str]:
    """Return URLs `/v8/artifacts/<name>`, with the team as a parameter."""
    kind = "teamId" if where.team.startswith("team_") else "slug"
    query = f"?{kind}={quote(where.team, safe='')}" if where.team else ""
    return lambda name: f"{where.base}/v8/artifacts/{name}{query}"


def build_plain_urls(where: WebPlace) -> Callable[[ObjectName], str]:
    """Return URLs below `/ac/` for changing objects and `/cas/` for content-addressed ones, as for
    Bazel caches."""
    return lambda name: (
        f"{where.base}/{'ac' if name.kind is ObjectKind.HEAD else 'cas'}/{name.digest}"
    )


class WebCarrier:
    def __init__(self, where: WebPlace, url_of: Callable[[ObjectName], str]) -> None:
        with import_extra(Extra.CLOUD):
            import httpx
        self._where = where
        self._url_of = url_of
        # A redirect to another host loses the token on the way: httpx sees to that.
        self._client = httpx.Client(
            timeout=_SECONDS, follow_redirects=True, max_redirects=_REDIRECTS, headers=PLAIN
        )

    @property
    def place(self) -> str:
        return self._where.base

    def get(self, name: ObjectName) -> bytes | None:
        import httpx

        try:
            with self._client.stream(
                "GET", self._url_of(name), headers=self._build_headers()
            ) as answer:
                if answer.status_code in _GONE:
                    return None
                self._refuse_bad(answer)
                return read_capped_content(answer, name.cap)
        except UnreadableAnswerError as error:
            raise CarrierError(str(error)) from None
        except httpx.HTTPError as error:
            raise _convert_network_error(error) from None

    def put(self, name: ObjectName, content: bytes) -> None:
        import httpx

        headers = {**self._build_headers(), "Content-Type": _OCTETS, "x-artifact-duration": "0"}
        try:
            with self._client.stream(
                "PUT", self._url_of(name), content=content, headers=headers
            ) as answer:
                self._refuse_bad(answer)
        except httpx.HTTPError as error:
            raise _convert_network_error(error) from None

    def close(self) -> None:
        self._client.close()

    def _build_headers(self) -> Mapping[str, str]:
        token = self._where.token.reveal()
        return {"Authorization": f"Bearer {token}"} if token else {}

    def _refuse_bad(self, answer: "httpx.Response") -> None:
        """Raise for an error status, without reading the body: it can be a login page."""
        status = answer.status_code
        if status in _LOCKED_OUT:
            raise CarrierRefusedError(f"it returned status {status}")
        if status == _OVERSIZED:
            raise OversizedError(f"it returned status {status}")
        if not _GOOD <= status < _OTHER:
            raise CarrierError(f"it returned status {status}")


def _convert_network_error(error: "httpx.HTTPError") -> CarrierError:
    import httpx

    match error:
        case httpx.ConnectError():
            # The system's words; of all others may quote what was sent, or what was answered.
            words = " ".join(str(error).split())[:_WORDS_END]
            return CarrierRefusedError(f"cannot connect to {error.request.url.host}: {words}")
        case httpx.TimeoutException():
            return CarrierError("timeout")
        case httpx.TooManyRedirects():
            return CarrierError("too many redirects")
        case httpx.ProtocolError() | httpx.DecodingError():
            return CarrierError("its response is not valid HTTP")
        case _:
            return CarrierError(f"the connection was lost ({type(error).__name__})")


def open_web(where: WebPlace, *, is_turbo: bool) -> WebCarrier:
    try:
        return WebCarrier(where, (build_turbo_urls if is_turbo else build_plain_urls)(where))
    except FabricError as error:
        raise CarrierRefusedError(f"{error.first.message}: {error.first.hint}") from error
