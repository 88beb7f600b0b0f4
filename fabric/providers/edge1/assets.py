"""Static files of a Worker: those of the archive, and their upload in a session."""

import base64
import mimetypes
import posixpath
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from fabric.model.hashing import hash_bytes
from fabric.model.outcomes.json_struct import JsonObject
from fabric.providers.core.contract import FunctionDraft, FunctionOrder, Unsupported
from fabric.providers.core.http_calls import ProviderCall, build_json_call
from fabric.providers.core.static_files import (
    StaticFolder,
    find_static_problems,
    read_static_files,
    refuse_large_files,
)
from fabric.providers.edge1.work import Edge1Work

_SECTION = ("extensions", "edge1-workers", "assets")
_HASH_LENGTH = 32
_LARGEST = 25 << 20
# Rules for the files around them, which are no files themselves.
_RULES = ("_headers", "_redirects")
_UNKNOWN_TYPE = "application/null"
_CONFIG = ("html_handling", "not_found_handling", "run_worker_first")


class _Session(Struct, frozen=True):
    """The response to a manifest or an upload: a token, and the files that are missing."""

    jwt: str | None = None
    buckets: tuple[tuple[str, ...], ...] = ()


class StaticFile(Struct, frozen=True):
    """A file. Its hash identifies content and type, as Cloudflare needs it."""

    path: str
    content: bytes

    @property
    def encoded(self) -> bytes:
        return base64.b64encode(self.content)

    @property
    def hash(self) -> str:
        end = posixpath.splitext(self.path)[1].removeprefix(".")
        return hash_bytes(self.encoded + end.encode())[:_HASH_LENGTH]


def find_static_folder(section: JsonObject) -> StaticFolder:
    return StaticFolder(str(section.get("directory") or ""), str(section.get("function") or ""))


def has_assets(section: JsonObject, function: str) -> bool:
    """Return whether the files belong to a function. Without a name they belong to the only
    one."""
    folder = find_static_folder(section)
    return bool(folder.directory) and folder.function in ("", function)


def find_asset_problems(
    section: JsonObject, functions: Sequence[FunctionDraft]
) -> Iterator[Unsupported]:
    folder = find_static_folder(section)
    return find_static_problems(folder, functions, _SECTION, needs_function=True)


def read_assets(order: FunctionOrder, folder: StaticFolder) -> tuple[StaticFile, ...]:
    files = read_static_files(order, folder)
    sizes = ((path, len(content)) for path, content in files.items())
    refuse_large_files(sizes, _LARGEST, "store it in an R2 bucket")
    return tuple(StaticFile(*pair) for pair in files.items())


def upload_assets(work: Edge1Work, name: str, files: Sequence[StaticFile]) -> JsonObject:
    """Upload the files that Cloudflare does not have, and return the settings of the version."""
    rules = {one.path.removeprefix("/"): one for one in files}
    served = {one.path: one for one in files if one.path.removeprefix("/") not in _RULES}
    manifest = {path: {"hash": one.hash, "size": len(one.content)} for path, one in served.items()}
    path = work.script(name, "/assets-upload-session")
    session = work.ask(build_json_call("POST", path, {"manifest": manifest}), _Session)
    by_hash = {one.hash: one for one in served.values()}
    token = session.jwt or ""
    for bucket in session.buckets:
        call = _build_upload_call(work, session.jwt or "", [by_hash[one] for one in bucket])
        token = work.ask(call, _Session).jwt or token
    if session.buckets:
        count = sum(len(one) for one in session.buckets)
        work.watch.hear(f"{count} of {len(served)} static files were uploaded")
    section = work.own.assets
    config = {key: section[key] for key in _CONFIG if key in section}
    config |= {key: rules[key].content.decode() for key in _RULES if key in rules}
    return {"jwt": token, "config": config}


def _build_upload_call(work: Edge1Work, token: str, files: Sequence[StaticFile]) -> ProviderCall:
    """Build an upload. Each part is named by its hash, and has the type that users get."""
    parts = [_encode_part(one) for one in files]
    boundary = f"fabric-{hash_bytes(b''.join(parts))[:32]}"
    joined = b"".join(b"--" + boundary.encode() + b"\r\n" + one + b"\r\n" for one in parts)
    return ProviderCall(
        "POST",
        f"{work.workers}/assets/upload?base64=true",
        joined + b"--" + boundary.encode() + b"--\r\n",
        f"multipart/form-data; boundary={boundary}",
        (("Authorization", f"Bearer {token}"),),
    )


def _encode_part(one: StaticFile) -> bytes:
    kind = mimetypes.guess_type(one.path)[0] or _UNKNOWN_TYPE
    head = f'Content-Disposition: form-data; name="{one.hash}"; filename="{one.hash}"\r\n'
    return f"{head}Content-Type: {kind}\r\n\r\n".encode() + one.encoded


def list_asset_bindings(section: JsonObject, function: str) -> list[Mapping[str, str]]:
    name = section.get("binding")
    is_bound = isinstance(name, str) and has_assets(section, function)
    return [{"name": str(name), "type": "assets"}] if is_bound else []
