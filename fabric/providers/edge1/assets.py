"""Static files of a Worker: those of the archive, and their upload in a session."""

import base64
import io
import mimetypes
import posixpath
import zipfile
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from fabric.model.hashing import hash_bytes
from fabric.model.outcomes.json_struct import JsonObject
from fabric.model.problems import FabricError, Problem
from fabric.providers.core.contract import FunctionDraft, FunctionOrder, Unsupported
from fabric.providers.core.http_calls import ProviderCall, build_json_call
from fabric.providers.core.limits import UNFIT
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


def find_static_folder(section: JsonObject) -> str:
    """Return the directory of the static files inside the archive; empty without files. A
    directory outside the service has only its name there."""
    directory = section.get("directory")
    if not isinstance(directory, str):
        return ""
    path = posixpath.normpath(directory)
    return posixpath.basename(path) if path.startswith("..") else path


def has_assets(section: JsonObject, function: str) -> bool:
    """Return whether the files belong to a function. Without a name they belong to the only
    one."""
    return bool(section.get("directory")) and section.get("function", function) == function


def find_asset_problems(
    section: JsonObject, functions: Sequence[FunctionDraft]
) -> Iterator[Unsupported]:
    names = sorted(one.name for one in functions)
    function = section.get("function")
    if not section or (function is None and len(names) == 1) or function in names:
        return
    why = f"names the function `{function}`, which the service does not have"
    if function is None:
        why = "has no `function`, and the service has several functions"
    hint = f"set `function` to one of {', '.join(names)}"
    yield Unsupported("", Problem(UNFIT, f"`assets` {why}", hint), keys=_SECTION)


def read_static_files(order: FunctionOrder, folder: str) -> tuple[StaticFile, ...]:
    with zipfile.ZipFile(io.BytesIO(order.artifact.path.read_bytes())) as archive:
        names = [one for one in archive.namelist() if one.startswith(f"{folder}/")]
        files = tuple(
            StaticFile(one.removeprefix(folder), archive.read(one))
            for one in sorted(names)
            if not one.endswith("/")
        )
    large = next((one for one in files if len(one.content) > _LARGEST), None)
    if large is not None:
        message = f"the static file `{large.path}` has {len(large.content):,} bytes"
        hint = f"store it in an R2 bucket: the maximum of a static file is {_LARGEST:,} bytes"
        raise FabricError(Problem("deploy/archive-too-large", message, hint))
    return files


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
