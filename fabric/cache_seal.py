"""The key of this user's caches, and the seal that everything stored in a cache carries.

A checkout may bring a cache that somebody else wrote, and its files belong to whoever cloned it:
neither owner nor mode says who wrote them. A keyed hash does. Built-ins only: stage 0 reads it.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

KEY_VARIABLE = "FABRIC_CACHE_KEY"
# Shorter texts can be guessed.
KEY_CHARACTERS = 32
SEAL_BYTES = 32
_KEY_BYTES = 32
_OTHERS = 0o077
_REGULAR, _KIND = 0o100000, 0o170000


class CacheSeal:
    """Seals contents under their names with one key; the key itself is never shown."""

    __slots__ = ("_key",)

    def __init__(self, key: bytes) -> None:
        self._key = _compute_key(b"", b"fabric cache", key)

    @property
    def id(self) -> str:
        """Which key it is; says nothing about the key itself."""
        return _compute_key(self._key, b"id", b"")[:8].hex()

    def seal(self, name: str, content: bytes) -> bytes:
        """The content as it is stored under a name."""
        return self.mark(name, content) + content

    def unseal(self, name: str, stored: object) -> bytes | None:
        """What was sealed under a name with this key; None for anything else."""
        if not isinstance(stored, bytes):
            return None
        content = stored[SEAL_BYTES:]
        return content if stored[:SEAL_BYTES] == self.mark(name, content) else None

    def mark(self, name: str, content: bytes) -> bytes:
        """The seal alone. Nobody measures how long a comparison takes: files are not a network."""
        return _compute_key(self._key, name.encode("utf-8", "surrogateescape"), content)


def random_seal() -> CacheSeal:
    """A seal that nothing stored carries: a cache without a usable key is an empty one."""
    return CacheSeal(os.urandom(_KEY_BYTES))


def key_file(env: Mapping[str, str]) -> str:
    """Where this user's key is stored; empty for a user without a home directory."""
    home = env.get("HOME", "")
    base = env.get("XDG_CONFIG_HOME") or (home and f"{home}/.config")
    return f"{base}/fabric/cache.key" if base and base.startswith("/") else ""


def parse_seal(text: str) -> CacheSeal | None:
    """The seal of FABRIC_CACHE_KEY; None if that is too short to be a key."""
    return CacheSeal(text.encode("utf-8", "surrogateescape")) if _is_long(text) else None


def read_stored_seal(path: str) -> CacheSeal | None:
    """The seal of a key file; None if it does not exist or another user could know the key."""
    key = _read(path) if path else b""
    return CacheSeal(key) if key else None


def usable_seal(env: Mapping[str, str], project: str) -> CacheSeal | None:
    """The seal of a command, if its key is usable already; a key file inside the project is not."""
    given = env.get(KEY_VARIABLE)
    if given:
        return parse_seal(given)
    path = key_file(env)
    return None if is_inside(path, project) else read_stored_seal(path)


def project_of(folder: str, cwd: str) -> str:
    """The directory whose `.fabric` a cache is in; the working directory for any other cache."""
    above, found, _ = f"{folder}/".rpartition("/.fabric/")
    return (above or "/") if found else cwd


def is_inside(path: str, project: str) -> bool:
    """Whether a key file came with the project that it would vouch for."""
    top = os.path.realpath(project)
    return os.path.realpath(path).startswith(f"{top.rstrip('/')}/") or top == "/"


def make_key_file(path: str) -> None:
    """Store a new key unless there is one; the first of several processes wins. Raises OSError."""
    folder = path.rpartition("/")[0]
    os.makedirs(folder, 0o700, exist_ok=True)
    temporary = f"{path}.{os.getpid()}-{os.urandom(4).hex()}"
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        os.write(fd, os.urandom(_KEY_BYTES))
        os.fsync(fd)
        os.link(temporary, path)
    except FileExistsError:
        return
    finally:
        os.close(fd)
        os.unlink(temporary)


def _is_long(text: str) -> bool:
    return len(text.strip()) >= KEY_CHARACTERS


def _read(path: str) -> bytes:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        found = os.fstat(fd)
        is_private = found.st_uid == os.geteuid() and not found.st_mode & _OTHERS
        is_key = found.st_mode & _KIND == _REGULAR and found.st_size == _KEY_BYTES
        return os.read(fd, _KEY_BYTES) if is_private and is_key else b""
    finally:
        os.close(fd)


def _compute_key(key: bytes, name: bytes, content: bytes) -> bytes:
    # The built-in module: hashlib would load OpenSSL. Three times as fast as its SHA-256, too.
    try:
        from _blake2 import blake2b
    except ImportError:
        from hashlib import blake2b
    made = blake2b(b"%d:%s" % (len(name), name), key=key, digest_size=SEAL_BYTES)
    made.update(content)
    return bytes(made.digest())
