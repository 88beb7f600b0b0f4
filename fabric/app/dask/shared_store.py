"""The shared cache as the file transport between a run and its workers."""

from fabric.app.settings import REMOTE_KEY_VARIABLE, Settings
from fabric.app.shared_cache import TEAM_VARIABLE, URL_VARIABLE, address_of
from fabric.engine.dask.sending import SharedStore
from fabric.engine.shared.errands import Errands
from fabric.model.hashing import digest_fields
from fabric.model.problems import FabricError, Problem
from fabric.remote.opening import carrier_opener
from fabric.remote.seal import keys_of


def shared_store(settings: Settings) -> SharedStore:
    """Build the store without connecting. Raises FabricError if no shared cache is configured."""
    key, url = settings.own(REMOTE_KEY_VARIABLE).reveal(), settings.env.get(URL_VARIABLE)
    if not (key and url):
        missing = [
            one for one, is_set in ((URL_VARIABLE, url), (REMOTE_KEY_VARIABLE, key)) if not is_set
        ]
        raise _unusable(f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} not set")
    try:
        keys = keys_of(key)
        opener = carrier_opener(address_of(settings))
    except ValueError as error:
        raise _unusable(str(error)) from error
    cache = digest_fields((url, settings.env.get(TEAM_VARIABLE, "")))
    return SharedStore(Errands(opener), keys, cache)


def _unusable(why: str) -> FabricError:
    return FabricError(
        Problem(
            "usage/no-shared-cache",
            f"--executor requires a shared cache: {why}",
            hint="set FABRIC_REMOTE_CACHE_URL and FABRIC_REMOTE_CACHE_KEY, here and on the "
            "workers (`fabric cache key` prints a new key)",
        )
    )
