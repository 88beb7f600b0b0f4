"""The shared cache as the file transport between a run and its workers."""

from fabric.app.caching.shared_cache import TEAM_VARIABLE, URL_VARIABLE, read_cache_address
from fabric.app.settings import REMOTE_KEY_VARIABLE, Settings
from fabric.engine.dask.sending import SharedStore
from fabric.engine.shared.background_uploads import BackgroundUploads
from fabric.model.hashing import hash_fields
from fabric.model.problems import FabricError, Problem
from fabric.remote.opening import build_carrier_opener
from fabric.remote.seal import parse_seal_keys


def build_shared_store(settings: Settings) -> SharedStore:
    """Build the store without connecting. Raises FabricError if no shared cache is configured."""
    key, url = settings.own(REMOTE_KEY_VARIABLE).reveal(), settings.env.get(URL_VARIABLE)
    if not (key and url):
        missing = [
            one for one, is_set in ((URL_VARIABLE, url), (REMOTE_KEY_VARIABLE, key)) if not is_set
        ]
        raise _unusable_store_error(
            f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} not set"
        )
    try:
        keys = parse_seal_keys(key)
        opener = build_carrier_opener(read_cache_address(settings))
    except ValueError as error:
        raise _unusable_store_error(str(error)) from error
    cache = hash_fields((url, settings.env.get(TEAM_VARIABLE, "")))
    return SharedStore(BackgroundUploads(opener), keys, cache)


def _unusable_store_error(why: str) -> FabricError:
    return FabricError(
        Problem(
            "usage/no-shared-cache",
            f"--executor requires a shared cache: {why}",
            hint="set FABRIC_REMOTE_CACHE_URL and FABRIC_REMOTE_CACHE_KEY, here and on the "
            "workers (`fabric cache key` prints a new key)",
        )
    )
