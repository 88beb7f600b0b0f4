"""Base images: their tags as digests, with a time to live, and their documents by digest."""

import datetime
import io
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias, TypeVar

import msgspec
from msgspec import Struct

from fabric.model.builds.image_names import ImageReference, require_reference
from fabric.model.hashing import hash_bytes, hash_fields
from fabric.model.names import normalize_architecture
from fabric.model.problems import ExitCode, FabricError, Problem, exit_code_of
from fabric.system.files.disk import write_atomic
from fabric.system.registries.images import BaseImage, check_base, read_architecture
from fabric.system.registries.push import Registries
from fabric.system.registries.registry import INDEX_TYPES, Registry

T = TypeVar("T")
# How long a tag is not resolved again.
TIME_TO_LIVE = datetime.timedelta(hours=1)
Now: TypeAlias = Callable[[], datetime.datetime]


class BaseQuery(Struct, frozen=True):
    """A base image of the config, and the architecture of the function. An image that is deployed
    as it is moves more often: its tag is resolved in each run."""

    name: str
    architecture: str = ""
    is_deployed: bool = False

    @property
    def platform(self) -> str:
        """The architecture as registries name it."""
        name = normalize_architecture(self.architecture)
        return "amd64" if name == "x86_64" else name


class ResolvedBase(Struct, frozen=True):
    """The digest of a base for one platform. With `problem` it was resolved earlier, and the
    registry cannot be reached now."""

    reference: str
    digest: str
    problem: Problem | None = None


class _StoredTag(Struct, frozen=True):
    digest: str
    at: datetime.datetime


class _Row(Struct, frozen=True, rename="camel"):
    digest: str
    platform: dict[str, object] = {}


class _Index(Struct, frozen=True):
    manifests: tuple[_Row, ...] = ()


class _Blob(Struct, frozen=True):
    digest: str


class _Manifest(Struct, frozen=True):
    config: _Blob


class Bases:
    """Resolves base images. Thread-safe; each base is resolved once in a run.

    `folder` belongs to this user only, because its tags are trusted. Without it nothing is stored.
    """

    def __init__(self, folder: Path | None, registries: Registries, now: Now) -> None:
        self._folder = folder
        self._registries = registries
        self._now = now
        self._guard = threading.Lock()
        self._known: dict[BaseQuery, ResolvedBase | FabricError] = {}
        self._memory: dict[str, bytes] = {}

    def resolve(self, query: BaseQuery) -> ResolvedBase:
        with self._guard:
            if query not in self._known:
                self._known[query] = self._try_resolve(query)
            found = self._known[query]
        if isinstance(found, FabricError):
            raise FabricError(*found.problems) from found
        return found

    def read(self, query: BaseQuery) -> BaseImage:
        """Read the documents of a base. Those of a known digest come from this machine."""
        base = self.resolve(query)
        reference = require_reference(base.reference)
        manifest = self._read_document(base.digest, reference, is_manifest=True)
        config = _decode(manifest, _Manifest, base.reference).config.digest
        document = self._read_document(config, reference, is_manifest=False)
        image = check_base(BaseImage(base.reference, manifest, document))
        if read_architecture(image) != query.platform:
            raise FabricError(_platform_problem(query))
        return image

    def _try_resolve(self, query: BaseQuery) -> ResolvedBase | FabricError:
        """Resolve a base, or return the error: not every function waits for the same outage."""
        try:
            return self._resolve(query)
        except FabricError as error:
            return error

    def _resolve(self, query: BaseQuery) -> ResolvedBase:
        reference = require_reference(query.name)
        name = f"tags/{hash_fields((str(reference), query.platform))}"
        stored = _decode_tag(self._load(name))
        time_to_live = datetime.timedelta() if query.is_deployed else TIME_TO_LIVE
        is_fresh = stored and (reference.is_pinned or self._now() - stored.at < time_to_live)
        if stored and is_fresh:
            return ResolvedBase(reference.pin(stored.digest), stored.digest)
        try:
            digest = self._find_digest(reference, query)
        except FabricError as error:
            if not stored or exit_code_of(error.first) is not ExitCode.UNREACHABLE:
                raise
            problem = _offline_problem(query.name, stored)
            return ResolvedBase(reference.pin(stored.digest), stored.digest, problem)
        self._write(name, msgspec.json.encode(_StoredTag(digest, self._now())))
        return ResolvedBase(reference.pin(digest), digest)

    def _find_digest(self, reference: ImageReference, query: BaseQuery) -> str:
        """Find the manifest for the platform of the function."""

        def read(version: str) -> tuple[bytes, str]:
            return self._registries.call(
                reference.registry, lambda one: one.read_manifest(reference.repository, version)
            )

        content, kind = read(reference.version)
        if reference.digest and f"sha256:{hash_bytes(content)}" != reference.digest:
            raise FabricError(_damaged_problem(str(reference)))
        if kind not in INDEX_TYPES:
            return self._store_document(content)
        rows = _decode(content, _Index, query.name).manifests
        found = [one for one in rows if _fits(one, query.platform)]
        if not found:
            raise FabricError(_platform_problem(query))
        return self._store_document(read(found[0].digest)[0])

    def _read_document(self, digest: str, reference: ImageReference, *, is_manifest: bool) -> bytes:
        content = self._load(f"documents/{digest.partition(':')[2]}")
        if f"sha256:{hash_bytes(content)}" == digest:
            return content

        def read(registry: Registry) -> bytes:
            if is_manifest:
                return registry.read_manifest(reference.repository, digest)[0]
            into = io.BytesIO()
            registry.read_blob(reference.repository, digest, into)
            return into.getvalue()

        content = self._registries.call(reference.registry, read)
        if self._store_document(content) != digest:
            raise FabricError(_damaged_problem(reference.pin(digest)))
        return content

    def _store_document(self, content: bytes) -> str:
        digest = hash_bytes(content)
        self._write(f"documents/{digest}", content)
        return f"sha256:{digest}"

    def _load(self, name: str) -> bytes:
        if self._folder is None:
            return self._memory.get(name, b"")
        try:
            return (self._folder / name).read_bytes()
        except OSError:
            return b""

    def _write(self, name: str, content: bytes) -> None:
        if self._folder is None:
            self._memory[name] = content
            return
        path = self._folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(path, content)


def read_current_base(registries: Registries, query: BaseQuery) -> BaseImage:
    """Read a base as its registry has it now. Nothing is stored."""
    never = datetime.datetime.min.replace(tzinfo=datetime.UTC)
    return Bases(None, registries, lambda: never).read(query)


def _decode_tag(content: bytes) -> _StoredTag | None:
    try:
        return msgspec.json.decode(content, type=_StoredTag)
    except msgspec.DecodeError:
        return None


def _fits(row: _Row, platform: str) -> bool:
    return row.platform.get("os") == "linux" and row.platform.get("architecture") == platform


def _decode(content: bytes, kind: type[T], name: str) -> T:
    try:
        return msgspec.json.decode(content, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise FabricError(_damaged_problem(name)) from error


def _platform_problem(query: BaseQuery) -> Problem:
    message = f"the image `{query.name}` has no variant for linux/{query.platform}"
    hint = "set `architecture`, or use another image"
    return Problem("image/no-platform", message, hint)


def _damaged_problem(name: str) -> Problem:
    message = f"the registry returned an invalid manifest for `{name}`"
    return Problem("image/bad-base", message, "use a container image")


def _offline_problem(name: str, stored: _StoredTag) -> Problem:
    message = (
        f"the image `{name}` could not be checked: using {stored.digest[:19]} "
        f"of {stored.at:%Y-%m-%d %H:%M} UTC"
    )
    return Problem("image/offline", message, "check the network to use a newer image")
