"""Packages of versions in the storage account: one private container, one blob per version."""

import base64
import datetime
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar
from urllib.parse import quote

from msgspec import Struct
from msgspec.structs import replace

from fabric.model.hashing import hash_bytes
from fabric.model.secrets.secret import Secret
from fabric.providers.cloud3.client import Cloud3Call, Cloud3Work, build_versioned_call
from fabric.providers.core.errors import RefusedCallError, ignore_missing
from fabric.system.crypto.shared_key import Objstore3Account, sign_reading, sign_request
from fabric.system.http.http_client import HttpReply, HttpRequest
from fabric.system.retry import TransientError

T = TypeVar("T")
STORAGE_VERSION = "2023-05-01"
_FORBIDDEN, _EXISTS = 403, 409
_BEING_DELETED = "ContainerBeingDeleted"
_CODE = re.compile(r"<Code>([A-Za-z]+)</Code>")
_MESSAGE = re.compile(r"<Message>([^<\n]+)")
# An app reads its package whenever an instance starts.
_READABLE = datetime.timedelta(days=3650)
# A large package needs longer than other requests.
_UPLOAD_SECONDS = 300.0
_PAGES = 1000


class _Key(Struct, frozen=True):
    value: str = ""


class _Keys(Struct, frozen=True):
    keys: tuple[_Key, ...] = ()


class PackageRow(Struct, frozen=True, kw_only=True):
    """A stored version. `parts` are the packed marks of its functions, and `config` the JSON text
    of the app settings that it needs."""

    ident: str
    parts: str = ""
    config: str = "{}"
    sha256: str = ""
    # The moment of the upload in milliseconds.
    at: int = 0

    @property
    def metadata(self) -> dict[str, str]:
        told = {"parts": self.parts, "config": self.config, "sha256": self.sha256}
        texts = {**told, "at": str(self.at)}
        return {f"x-ms-meta-{name}": text for name, text in texts.items()}


class StorageCalls(Struct, frozen=True):
    """The calls to one storage account, signed with its key."""

    work: Cloud3Work
    name: str

    @property
    def key(self) -> Secret[bytes]:
        return fetch_storage_key(self.work, self.work.ask)

    @property
    def base(self) -> str:
        form = self.work.account.storage
        return form.replace("{account}", self.name).replace("{service}", "blob").rstrip("/")

    def sign_package(self, ident: str) -> str:
        """Return the address of a package, with a signature to read it."""
        clock = self.work.api.clock
        account = Objstore3Account(self.name, self.key, self.base)
        return sign_reading(account, self._path(ident), clock.now() + _READABLE)

    @property
    def containers(self) -> tuple[str, str]:
        """The containers of the service: for its versions, and for the package that Azure runs."""
        name = f"fabric-{self.work.owner.digest}"
        return name, f"{name}-app"

    def send(
        self,
        method: str,
        path: str,
        content: bytes = b"",
        headers: Mapping[str, str] | None = None,
        service: str = "blob",
    ) -> HttpReply:
        """Make an idempotent call, with retries."""
        form = self.work.account.storage
        base = form.replace("{account}", self.name).replace("{service}", service)
        sent = {"Content-Type": "application/zip"} if content else {}
        named: Secret[Mapping[str, str]] = Secret({**sent, **(headers or {})})
        request = HttpRequest(method, base.rstrip("/") + path, named, content, _UPLOAD_SECONDS)
        account = Objstore3Account(self.name, self.key, base)
        return self.work.patient(lambda: self._send_once(request, account, f"{method} {path}"))

    def _send_once(self, request: HttpRequest, account: Objstore3Account, title: str) -> HttpReply:
        api = self.work.api
        reply = api.http.send(sign_request(request, account, api.clock))
        if reply.status == _FORBIDDEN:
            # The key was replaced, or the account was created again.
            api.forget_storage_key(self.name)
            account = replace(account, key=fetch_storage_key(self.work, self.work.send))
            reply = api.http.send(sign_request(request, account, api.clock))
        if reply.ok:
            return reply
        text = reply.content.decode(errors="replace")
        told = [found[1] if (found := one.search(text)) else "" for one in (_CODE, _MESSAGE)]
        words, code = " ".join(filter(None, (str(reply.status), *told))), frozenset(told[:1])
        if _BEING_DELETED in code:
            raise TransientError(f"`{title}` returned {words}")
        raise RefusedCallError(reply.status, words, title.partition("?")[0], code)

    def make_container(self, name: str) -> None:
        try:
            self.send("PUT", f"/{name}?restype=container")
        except RefusedCallError as error:
            if error.status != _EXISTS:
                raise

    def delete_container(self, name: str) -> None:
        with ignore_missing():
            self.send("DELETE", f"/{name}?restype=container")

    def list_containers(self) -> list[str]:
        return [name for name, _ in self._list_pages("/?comp=list", "Container")]

    def list_queues(self) -> list[str]:
        return [name for name, _ in self._list_pages("/?comp=list", "Queue", "queue")]

    def put_package(self, row: PackageRow, content: bytes) -> None:
        """Upload a version. A version with this id is not changed: its content is the same."""
        headers = {"x-ms-blob-type": "BlockBlob", "If-None-Match": "*", **row.metadata}
        try:
            self.send("PUT", self._path(row.ident), content, headers)
        except RefusedCallError as error:
            if error.status != _EXISTS:
                raise

    def fetch_package(self, ident: str) -> bytes:
        reply = self.send("GET", self._path(ident))
        wanted = reply.headers.get("x-ms-meta-sha256", "")
        if wanted and hash_bytes(reply.content) != wanted:
            raise TransientError(f"the package {ident} was not received completely")
        return reply.content

    def delete_package(self, ident: str) -> None:
        with ignore_missing():
            self.send("DELETE", self._path(ident))

    def list_packages(self) -> list[PackageRow]:
        """List the stored versions of the service, oldest first."""
        path = f"/{self.containers[0]}?restype=container&comp=list&include=metadata"
        try:
            found = [*self._list_pages(path, "Blob")]
        except RefusedCallError as error:
            if error.is_gone:
                return []
            raise
        return sorted((_read_package(name, one) for name, one in found), key=lambda one: one.at)

    def _list_pages(
        self, path: str, kind: str, service: str = "blob"
    ) -> Iterator[tuple[str, ET.Element]]:
        marker = ""
        for _ in range(_PAGES):
            tail = f"&marker={quote(marker, safe='')}" if marker else ""
            reply = self.send("GET", path + tail, service=service)
            try:
                page = ET.fromstring(reply.content)  # noqa: S314 - size-limited, no entities
            except ET.ParseError as error:
                raise TransientError(f"invalid response to `GET {path}`") from error
            yield from ((one.findtext("Name", ""), one) for one in page.iter(kind))
            marker = page.findtext("NextMarker") or ""
            if not marker:
                return

    def _path(self, ident: str) -> str:
        return f"/{self.containers[0]}/{ident}.zip"


def _read_package(name: str, row: ET.Element) -> PackageRow:
    texts = {one.tag.lower(): one.text or "" for one in row.iterfind("Metadata/*")}
    ident = name.removesuffix(".zip")
    at = texts.get("at", "")
    return PackageRow(
        ident=ident,
        parts=texts.get("parts", ""),
        config=texts.get("config", "{}"),
        at=int(at) if at.isdecimal() else 0,
    )


def storage_path(work: Cloud3Work) -> str:
    there = f"{work.account.group_path}/providers/Microsoft.Storage/storageAccounts"
    return f"{there}/{quote(work.storage, safe='')}"


def fetch_storage_key(
    work: Cloud3Work, ask: Callable[[Cloud3Call, type[_Keys]], _Keys]
) -> Secret[bytes]:
    call = build_versioned_call("POST", f"{storage_path(work)}/listKeys", STORAGE_VERSION)

    def fetch() -> Secret[bytes]:
        found = ask(call, _Keys)
        try:
            return Secret(base64.b64decode(found.keys[0].value, validate=True))
        except (IndexError, ValueError):
            raise TransientError(f"invalid response to `{call.title}`") from None

    return work.api.find_storage_key(work.storage, fetch)


def open_storage(work: Cloud3Work) -> StorageCalls:
    return StorageCalls(work, work.storage)
