"""The key that tests seal caches with."""

from collections.abc import Mapping
from pathlib import Path

from fabric.cache_seal import KEY_VARIABLE, CacheSeal, make_key_file, read_stored_seal
from fabric.engine.memory.memo import SealedPath
from fabric.model.secrets.secret import Secret

SEAL = CacheSeal(b"the key of these tests")
OTHER_SEAL = CacheSeal(b"the key of another user")
# For settings whose home directory is the project: a key file there would not be used.
GIVEN_KEY: Secret[Mapping[str, str]] = Secret({KEY_VARIABLE: "a key of these tests, long enough"})


def sealed(path: Path) -> SealedPath:
    return SealedPath(path, SEAL)


def seal_of_home(home: Path) -> CacheSeal:
    """The seal of a user, made if there is none yet."""
    path = f"{home}/.config/fabric/cache.key"
    make_key_file(path)
    found = read_stored_seal(path)
    assert found is not None
    return found
