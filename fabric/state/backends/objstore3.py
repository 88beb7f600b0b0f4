"""State in an objstore3 container. A blob's ETag is its version."""

import xml.etree.ElementTree as ET
from collections.abc import Iterator
from urllib.parse import quote, urlencode

from fabric.model.secret import Secret
from fabric.state.backends.failures import failed, missing, new_mark, understood
from fabric.state.backends.folders import folder
from fabric.state.backends.shared_key import Objstore3Account, signed
from fabric.state.backends.web import Web
from fabric.state.contract import MovedError, Stored, Version
from fabric.system.clock import Clock
from fabric.system.http_client import Http, HttpReply, HttpRequest

_PAGE = 200
_NO_CONTAINER = ("ContainerNotFound", "ContainerBeingDeleted", "ContainerDisabled")
# Other conflicts, such as a lease of somebody else's, are not a condition of ours that failed.
_LOST = ("BlobAlreadyExists", "BlobNotFound", "ConditionNotMet", "TargetConditionNotMet")


class Objstore3:
    def __init__(
        self, http: Http, account: Objstore3Account, clock: Clock, container: str, prefix: str
    ) -> None:
        self._account = account
        self._clock = clock
        self._container = container
        self._folder = folder(prefix)
        self._web = Web(http, self.place)
        self._url = f"{account.endpoint.rstrip('/')}/{quote(container, safe='')}"

    @property
    def kind(self) -> str:
        return "objstore3"

    @property
    def place(self) -> str:
        return f"objstore3://{self._account.name}/{self._container}/{self._folder}"

    def read(self, key: str) -> Stored | None:
        reply = self._ask(HttpRequest("GET", self._blob(key)))
        if reply.ok:
            with understood(self.place):
                return Stored(reply.content, _version(reply))
        if _code(reply) in _LOST:
            return None
        raise failed(self.place, f"status {reply.status}: {_code(reply)}")

    def write(self, key: str, content: bytes, expected: Version | None) -> Version:
        condition = {"If-None-Match": "*"} if expected is None else {"If-Match": expected}
        headers = {
            "Content-Type": "application/octet-stream",
            "x-ms-blob-type": "BlockBlob",
            **condition,
        }
        reply = self._change(key, HttpRequest("PUT", self._blob(key), Secret(headers), content))
        with understood(self.place):
            return _version(reply)

    def delete(self, key: str, expected: Version) -> None:
        headers = {"If-Match": expected, "x-ms-delete-snapshots": "include"}
        self._change(key, HttpRequest("DELETE", self._blob(key), Secret(headers)))

    def list(self, prefix: str) -> tuple[str, ...]:
        with understood(self.place):
            names = tuple(self._names(self._folder + prefix))
        return tuple(sorted(name.removeprefix(self._folder) for name in names))

    def close(self) -> None:
        self._web.close()

    def _names(self, prefix: str) -> Iterator[str]:
        words = {
            "restype": "container",
            "comp": "list",
            "prefix": prefix,
            "maxresults": str(_PAGE),
        }
        while True:
            reply = self._ask(
                HttpRequest("GET", f"{self._url}?{urlencode(words, quote_via=quote)}")
            )
            # The account's own service wrote this; the parser here expands no outer entities.
            page = ET.fromstring(reply.content)  # noqa: S314
            if page.tag != "EnumerationResults":
                raise ValueError(f"unexpected element {page.tag}")
            yield from (name.text or "" for name in page.iterfind("Blobs/Blob/Name"))
            marker = page.findtext("NextMarker")
            if not marker:
                return
            words["marker"] = new_mark(marker, words.get("marker"))

    def _blob(self, key: str) -> str:
        return f"{self._url}/{quote(self._folder + key)}"

    def _change(self, key: str, request: HttpRequest) -> HttpReply:
        reply = self._ask(request)
        if reply.ok:
            return reply
        if _code(reply) in _LOST:
            raise MovedError(key)
        raise failed(self.place, f"status {reply.status}: {_code(reply)}")

    def _ask(self, request: HttpRequest) -> HttpReply:
        reply = self._web.ask(signed(request, self._account, self._clock))
        if _code(reply) in _NO_CONTAINER:
            raise missing(self.place, "container")
        return reply


def _version(reply: HttpReply) -> Version:
    tag = reply.headers["etag"]
    if not tag:
        raise ValueError("a blob has no ETag")
    return Version(tag)


def _code(reply: HttpReply) -> str:
    return "" if reply.ok else reply.headers.get("x-ms-error-code", "")
