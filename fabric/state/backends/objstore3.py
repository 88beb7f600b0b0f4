"""State in an objstore3 container. A blob's ETag is its version."""

import base64
import binascii
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping
from urllib.parse import quote, urlencode

from fabric.model.secrets.secret import Secret
from fabric.state.backends.failures import (
    missing_object_error,
    no_credentials_error,
    report_malformed_answer,
    require_new_page,
    store_failure_error,
)
from fabric.state.backends.web import Web
from fabric.state.contract import MovedError, Stored, Version, format_folder_prefix
from fabric.system.clock import Clock
from fabric.system.crypto.shared_key import Objstore3Account, sign_request
from fabric.system.http.http_client import Http, HttpReply, HttpRequest

CREDENTIALS = "OBJSTORE3_CONNECTION_STRING, or OBJSTORE3_ACCOUNT and OBJSTORE3_KEY"
_PLACE = "objstore3"
# It becomes a part of the host.
_NAME = re.compile(r"[A-Za-z0-9-]{1,63}")
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
        self._folder = format_folder_prefix(prefix)
        self._web = Web(http, self.place)
        self._url = f"{account.endpoint.rstrip('/')}/{quote(container, safe='')}"

    @property
    def kind(self) -> str:
        return "objstore3"

    @property
    def place(self) -> str:
        return f"objstore3://{self._account.name}/{self._container}/{self._folder}"

    def read(self, key: str) -> Stored | None:
        reply = self._ask(HttpRequest("GET", self._build_blob_url(key)))
        if reply.ok:
            with report_malformed_answer(self.place):
                return Stored(reply.content, _read_version(reply))
        if _read_error_code(reply) in _LOST:
            return None
        raise store_failure_error(self.place, f"status {reply.status}: {_read_error_code(reply)}")

    def write(self, key: str, content: bytes, expected: Version | None) -> Version:
        condition = {"If-None-Match": "*"} if expected is None else {"If-Match": expected}
        headers = {
            "Content-Type": "application/octet-stream",
            "x-ms-blob-type": "BlockBlob",
            **condition,
        }
        reply = self._change(
            key, HttpRequest("PUT", self._build_blob_url(key), Secret(headers), content)
        )
        with report_malformed_answer(self.place):
            return _read_version(reply)

    def delete(self, key: str, expected: Version) -> None:
        headers = {"If-Match": expected, "x-ms-delete-snapshots": "include"}
        self._change(key, HttpRequest("DELETE", self._build_blob_url(key), Secret(headers)))

    def list(self, prefix: str) -> tuple[str, ...]:
        with report_malformed_answer(self.place):
            names = tuple(self._list_names(self._folder + prefix))
        return tuple(sorted(name.removeprefix(self._folder) for name in names))

    def close(self) -> None:
        self._web.close()

    def _list_names(self, prefix: str) -> Iterator[str]:
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
            words["marker"] = require_new_page(marker, words.get("marker"))

    def _build_blob_url(self, key: str) -> str:
        return f"{self._url}/{quote(self._folder + key)}"

    def _change(self, key: str, request: HttpRequest) -> HttpReply:
        reply = self._ask(request)
        if reply.ok:
            return reply
        if _read_error_code(reply) in _LOST:
            raise MovedError(key)
        raise store_failure_error(self.place, f"status {reply.status}: {_read_error_code(reply)}")

    def _ask(self, request: HttpRequest) -> HttpReply:
        reply = self._web.ask(sign_request(request, self._account, self._clock))
        if _read_error_code(reply) in _NO_CONTAINER:
            raise missing_object_error(self.place, "container")
        return reply


def _read_version(reply: HttpReply) -> Version:
    tag = reply.headers["etag"]
    if not tag:
        raise ValueError("a blob has no ETag")
    return Version(tag)


def _read_error_code(reply: HttpReply) -> str:
    return "" if reply.ok else reply.headers.get("x-ms-error-code", "")


def read_objstore3_account(env: Mapping[str, str]) -> Objstore3Account:
    words = _parse_connection_string(env.get("OBJSTORE3_CONNECTION_STRING", ""))
    name = words.get("AccountName") or env.get("OBJSTORE3_ACCOUNT", "")
    key = words.get("AccountKey") or env.get("OBJSTORE3_KEY", "")
    if not name or not key:
        raise no_credentials_error(_PLACE, CREDENTIALS)
    if not _NAME.fullmatch(name):
        raise no_credentials_error(f"{_PLACE}: invalid account name", CREDENTIALS)
    scheme = words.get("DefaultEndpointsProtocol") or "https"
    suffix = words.get("EndpointSuffix") or "core.windows.net"
    chosen = env.get("OBJSTORE3_ENDPOINT_URL") or words.get("BlobEndpoint")
    return Objstore3Account(
        name, Secret(_decode_key(key)), chosen or f"{scheme}://{name}.blob.{suffix}"
    )


def _parse_connection_string(text: str) -> dict[str, str]:
    """Parse a connection string `Name=value;…`. A value can contain `=`."""
    pairs = (part.partition("=") for part in text.split(";") if part.strip())
    return {name.strip(): value.strip() for name, _, value in pairs}


def _decode_key(key: str) -> bytes:
    try:
        return base64.b64decode(key, validate=True)
    except (binascii.Error, ValueError):
        raise no_credentials_error(
            f"{_PLACE}: the account key is not base64", CREDENTIALS
        ) from None
