"""Storage accounts: the blob and queue calls of deploys, with signatures that are checked here."""

import base64
import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import unquote
from xml.sax.saxutils import escape

from tests.support.servers.cloud3.groups import Blob, Storage
from tests.support.servers.planned_faults import RefusedError

_SIGNED = (
    *("content-encoding", "content-language", "content-length", "content-md5", "content-type"),
    *("date", "if-modified-since", "if-match", "if-none-match", "if-unmodified-since", "range"),
)


class StorageError(RefusedError):
    def __init__(self, status: int, code: str) -> None:
        super().__init__(status, code)
        self.code = code


@dataclass(frozen=True)
class StorageCall:
    method: str
    # The path as it was asked for, below the server.
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True)
class StorageAnswer:
    status: int
    content: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()


def check_signature(call: StorageCall, storage: Storage) -> None:
    headers = {**call.headers, "content-length": str(len(call.body)) if call.body else ""}
    own = sorted(name for name in headers if name.startswith("x-ms-"))
    lines = [
        call.method,
        *(headers.get(name, "") for name in _SIGNED),
        *(f"{name}:{headers[name]}" for name in own),
        f"/{storage.name}{call.path}",
        *(f"{name}:{call.query[name]}" for name in sorted(call.query)),
    ]
    mac = hmac.new(storage.key, "\n".join(lines).encode(), hashlib.sha256).digest()
    wanted = f"SharedKey {storage.name}:{base64.b64encode(mac).decode()}"
    if headers.get("authorization") != wanted or "x-ms-date" not in headers:
        raise StorageError(403, "AuthenticationFailed")


def read_signed(storage: Storage, path: str, query: Mapping[str, str]) -> bytes:
    """The blob at an address with a signature. Without a valid one there is none."""
    fields = ("sp", "st", "se", "", "si", "sip", "spr", "sv", "sr", *("" for _ in range(7)))
    lines = [query.get(name, "") for name in fields]
    lines[3] = f"/blob/{storage.name}{path}"
    mac = hmac.new(storage.key, "\n".join(lines).encode(), hashlib.sha256).digest()
    container, _, name = unquote(path.strip("/")).partition("/")
    found = storage.containers.get(container, {}).get(name)
    is_valid = query.get("sig") == base64.b64encode(mac).decode() and query.get("sp") == "r"
    return found.content if found and is_valid else b""


def answer(call: StorageCall, storage: Storage, rest: str, service: str) -> StorageAnswer:
    """`rest` is the path below the account."""
    check_signature(call, storage)
    container, _, name = unquote(rest.strip("/")).partition("/")
    if service == "queue":
        rows = "".join(f"<Queue><Name>{one}</Name></Queue>" for one in sorted(storage.queues))
        return _listed(f"<Queues>{rows}</Queues>")
    if not container:
        rows = "".join(
            f"<Container><Name>{one}</Name></Container>" for one in sorted(storage.containers)
        )
        return _listed(f"<Containers>{rows}</Containers>")
    if not name:
        return _of_container(call, storage, container)
    return _of_blob(call, storage, container, name)


def _of_container(call: StorageCall, storage: Storage, container: str) -> StorageAnswer:
    if call.query.get("restype") != "container":
        raise StorageError(400, "InvalidUri")
    if call.method == "PUT":
        if container in storage.containers:
            raise StorageError(409, "ContainerAlreadyExists")
        storage.containers[container] = {}
        return StorageAnswer(201)
    if container not in storage.containers:
        raise StorageError(404, "ContainerNotFound")
    if call.method == "DELETE":
        del storage.containers[container]
        return StorageAnswer(202)
    return _listed(f"<Blobs>{''.join(map(_row, storage.containers[container].items()))}</Blobs>")


def _row(row: tuple[str, Blob]) -> str:
    name, blob = row
    told = "".join(f"<{key}>{escape(text)}</{key}>" for key, text in blob.metadata.items())
    return f"<Blob><Name>{escape(name)}</Name><Metadata>{told}</Metadata></Blob>"


def _listed(rows: str) -> StorageAnswer:
    text = f'<?xml version="1.0"?><EnumerationResults>{rows}<NextMarker/></EnumerationResults>'
    return StorageAnswer(200, text.encode())


def _of_blob(call: StorageCall, storage: Storage, container: str, name: str) -> StorageAnswer:
    if container not in storage.containers:
        raise StorageError(404, "ContainerNotFound")
    blobs = storage.containers[container]
    if call.method == "PUT":
        if call.headers.get("x-ms-blob-type") != "BlockBlob":
            raise StorageError(400, "MissingRequiredHeader")
        if call.headers.get("if-none-match") == "*" and name in blobs:
            raise StorageError(409, "BlobAlreadyExists")
        begin = "x-ms-meta-"
        metadata = {
            key.removeprefix(begin): text
            for key, text in call.headers.items()
            if key.startswith(begin)
        }
        blobs[name] = Blob(call.body, metadata)
        return StorageAnswer(201)
    if name not in blobs:
        raise StorageError(404, "BlobNotFound")
    if call.method == "DELETE":
        del blobs[name]
        return StorageAnswer(202)
    told = tuple((f"x-ms-meta-{key}", text) for key, text in blobs[name].metadata.items())
    return StorageAnswer(200, blobs[name].content, told)


def error_text(error: RefusedError) -> bytes:
    code = getattr(error, "code", "")
    told = "" if code == str(error) else f"<Message>{escape(str(error))}</Message>"
    return f"<Error><Code>{code}</Code>{told}</Error>".encode()
