"""Push an image to a repository: only the blobs that it does not have, then the manifest."""

import io
import json
import tempfile
import threading
from collections.abc import Callable, Mapping
from typing import IO, TypeVar

from msgspec import Struct

from fabric.model.builds.image_names import require_reference
from fabric.model.distribution import Extra, PackageNeed
from fabric.model.problems import FabricError, Problem, drop_repeated_problems
from fabric.system.http.http_client import Http, open_http
from fabric.system.optional_packages import require_packages
from fabric.system.parallel import run_for_each
from fabric.system.registries.credentials import (
    FindLogin,
    RegistryLogin,
    find_login,
    list_insecure,
)
from fabric.system.registries.registry import Registry
from fabric.system.retry import PATIENT, Patience, TransientError, retry

T = TypeVar("T")
_SPOOLED_BYTES = 8 << 20
_MOST_RESPONSE_BYTES = 16 << 20
_WORKERS = 4
# A registry can lose a blob between the check and the manifest.
_TRIES = 3
_TAG_LENGTH = 16
_ONCE = Patience(tries=1)


class UploadLimits(Struct, frozen=True):
    """Up to `whole` bytes a blob is sent in one call, above in chunks, which proxies accept."""

    whole: int = 100 << 20
    chunk: int = 32 << 20


DEFAULT_LIMITS = UploadLimits()


class Registries:
    """The registries of a run. Thread-safe; tokens exist only in this process."""

    def __init__(
        self,
        find_login: FindLogin,
        insecure: frozenset[str] = frozenset(),
        patience: Patience = PATIENT,
        limits: UploadLimits = DEFAULT_LIMITS,
    ) -> None:
        self._find_login = find_login
        self._insecure = insecure
        self._http: Http | None = None
        self._known: dict[str, Registry] = {}
        self._guard = threading.Lock()
        self._patience = patience
        self.limits = limits

    def find(self, name: str) -> Registry:
        with self._guard:
            if name not in self._known:
                self._http = self._http or _open_http()
                login = self._find_login(name)
                self._known[name] = Registry(name, self._http, login, self._insecure)
            return self._known[name]

    def call(self, registry: str, act: Callable[[Registry], T]) -> T:
        """Call a registry, and repeat the call after temporary errors."""
        try:
            return retry(lambda: act(self.find(registry)), self._patience)
        except TransientError as error:
            message = f"the registry `{registry}` cannot be reached: {error}"
            hint = "check the network and the registry, then run the command again"
            raise FabricError(Problem("image/unreachable", message, hint)) from error

    def close(self) -> None:
        if self._http is not None:
            self._http.close()


def open_registries(
    env: Mapping[str, str], logins: Mapping[str, RegistryLogin] | None = None
) -> Registries:
    """Open the registries of an environment. `logins` are those of a provider."""
    own = logins or {}
    return Registries(lambda name: own.get(name) or find_login(name, env), list_insecure(env))


def _open_http() -> Http:
    need = PackageNeed("container images require", Extra.CLOUD, "image/not-installed")
    with require_packages(need):
        return open_http(_ONCE, _MOST_RESPONSE_BYTES)


class PushOrder(Struct, frozen=True, kw_only=True):
    """An image to push. `contents` reads its own blobs; the others are those of the base."""

    registry: str
    repository: str
    manifest: bytes
    digest: str
    contents: Mapping[str, Callable[[], bytes]]
    # Pinned by digest.
    base: str

    @property
    def address(self) -> str:
        return f"{self.registry}/{self.repository}@{self.digest}"

    @property
    def tag(self) -> str:
        """Return a tag of this image only: cleanup rules often delete images without a tag."""
        return f"fabric-{self.digest.partition(':')[2][:_TAG_LENGTH]}"


def list_blobs(manifest: bytes) -> tuple[str, ...]:
    """List the digests of the layers and of the config, in the order of an upload."""
    document = json.loads(manifest)
    rows = [*document["layers"], document["config"]]
    return tuple(dict.fromkeys(str(one["digest"]) for one in rows))


def push_image(registries: Registries, order: PushOrder) -> int:
    """Push an image and return the number of sent or mounted blobs."""
    call = registries.call
    if call(order.registry, lambda one: one.has_manifest(order.repository, order.digest)):
        return 0
    sent = _send_missing(registries, order, is_checked=True)
    for _ in range(_TRIES):
        if call(
            order.registry,
            lambda one: one.write_manifest(order.repository, order.tag, order.manifest),
        ):
            return sent
        sent += _send_missing(registries, order, is_checked=False)
    message = f"the registry `{order.registry}` does not keep the layers of `{order.repository}`"
    hint = "check its storage and its cleanup rules, then run the command again"
    raise FabricError(Problem("image/refused", message, hint))


def _send_missing(registries: Registries, order: PushOrder, *, is_checked: bool) -> int:
    """Send blobs. After a loss the answers of the registry are not trusted, so all are sent."""
    sent: list[str] = []

    def send(digest: str) -> None:
        def act(registry: Registry) -> None:
            if not (is_checked and registry.has_blob(order.repository, digest)):
                _send_blob(registries, order, digest, registry)
                sent.append(digest)

        registries.call(order.registry, act)

    problems = run_for_each(list_blobs(order.manifest), send, _WORKERS)
    if problems:
        raise FabricError(*drop_repeated_problems(problems))
    return len(sent)


def _send_blob(registries: Registries, order: PushOrder, digest: str, target: Registry) -> None:
    upload = _Upload(target, order.repository, digest, registries.limits)
    if digest in order.contents:
        upload.send(io.BytesIO(order.contents[digest]()))
        return
    base = require_reference(order.base)
    location = ""
    if base.registry == order.registry and base.repository != order.repository:
        location = target.mount_blob(order.repository, digest, base.repository)
        if not location:
            return
    with tempfile.SpooledTemporaryFile(_SPOOLED_BYTES) as file:
        registries.call(base.registry, lambda one: one.read_blob(base.repository, digest, file))
        upload.send(file, location)


class _Upload(Struct, frozen=True):
    """The upload of one blob."""

    target: Registry
    repository: str
    digest: str
    limits: UploadLimits

    def send(self, file: IO[bytes], location: str = "") -> None:
        size = file.seek(0, io.SEEK_END)
        file.seek(0)
        location = location or self.target.start_upload(self.repository)
        if size <= self.limits.whole:
            self.target.finish_upload(self.repository, location, self.digest, file.read())
            return
        start = 0
        while chunk := file.read(self.limits.chunk):
            location = self.target.send_chunk(self.repository, location, chunk, start)
            start += len(chunk)
        self.target.finish_upload(self.repository, location, self.digest)
