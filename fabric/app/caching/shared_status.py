"""Check the shared cache: reachability, contents and write permission."""

import base64
from collections.abc import Iterator
from contextlib import closing
from random import Random

from msgspec import Struct

from fabric.app.caching.shared_cache import URL_VARIABLE, SharedAccess, open_access
from fabric.app.request import CacheOptions, Request
from fabric.app.settings import Settings
from fabric.engine.shared.background_uploads import describe_error
from fabric.engine.shared.shared_cache import SharedCache
from fabric.engine.shared.stored_segments import StoredSegments
from fabric.model.checks import Check, make_passed_check, make_warning_check
from fabric.model.names import Verb
from fabric.model.outcomes.queried import CacheStatusOutcome, DocumentOutcome
from fabric.model.problems import Problem
from fabric.model.report import Report
from fabric.model.runs.cache_modes import cache_modes
from fabric.remote.contract import (
    PACK_BYTES,
    CarrierRefusedError,
    ObjectKind,
    ObjectName,
    OversizedError,
)
from fabric.remote.seal import build_head_name, seal_head, seal_object

_KEY_BYTES = 32
# A head that nobody looks up: what is put there says only that it could be.
_TRIAL = "trial"
_NOT_A_CACHE = "check FABRIC_REMOTE_CACHE_URL: a login page also returns 200"
_LOCKED = "grant FABRIC_REMOTE_CACHE_TOKEN write permission, or set FABRIC_CACHE=remote:r"
_BROKEN = "check the server and the network, or set FABRIC_CACHE=remote:r"
_LARGE = "allow request bodies of 5 MB, such as `client_max_body_size 8m;` in nginx"


class SharedLook(Struct, frozen=True):
    """The status of the shared cache. `ms` is the query time; `tasks` have results reachable from a
    head."""

    place: str
    scope: str = ""
    reads: bool = False
    writes: bool = False
    segments: int = 0
    tasks: int = 0
    ms: int = 0
    problems: tuple[Problem, ...] = ()


def report_shared_status(settings: Settings, modes: str = "") -> Report:
    """Query the server again, ignoring cached results."""
    command = "cache status"
    cache_modes(modes, settings.env)  # a slip is told where there is no cache yet, too
    found = look_at_shared(settings, modes)
    if found is None:
        return Report(command, CacheStatusOutcome())
    outcome = CacheStatusOutcome(
        configured=True,
        place=found.place,
        scope=found.scope,
        reads=found.reads,
        writes=found.writes,
        segments=found.segments,
        tasks=found.tasks,
        ms=found.ms,
    )
    return Report(command, outcome, problems=found.problems)


def generate_cache_key(settings: Settings) -> Report:
    """Generate a key for FABRIC_REMOTE_CACHE_KEY. The key is printed once and not stored."""
    raw = bytes.fromhex(settings.chance(_KEY_BYTES))
    key = base64.urlsafe_b64encode(raw).decode().rstrip("=")
    return Report("cache key", DocumentOutcome({"key": key}, key))


def look_at_shared(settings: Settings, modes: str = "") -> SharedLook | None:
    """Inspect the shared cache. Returns None if none is configured."""
    if not settings.env.get(URL_VARIABLE):
        return None
    with closing(open_access(_build_request(modes), settings)) as access:
        return _inspect_shared_cache(access, settings)


def _build_request(modes: str) -> Request:
    return Request(Verb.BUILD, "cache status", caching=CacheOptions(modes=modes))


def _inspect_shared_cache(access: SharedAccess, settings: Settings) -> SharedLook | None:
    cache = access.cache
    if cache is None:
        return SharedLook(_format_address(settings), problems=access.warnings)
    cache.begin(StoredSegments(None))
    segments = cache.collect_answer().segments
    tasks = {task_id for one in segments.values() for task_id in one.traces}
    problems = access.warnings
    if cache.link.writes and not problems:
        problems = tuple(_find_write_problems(cache))
    link, ms = cache.link, cache.use.ms
    place = _format_address(settings)
    return SharedLook(
        place=place,
        scope=link.scope,
        reads=link.reads,
        writes=link.writes,
        segments=len(segments),
        tasks=len(tasks),
        ms=ms,
        problems=problems,
    )


def _format_address(settings: Settings) -> str:
    """Format the address without a possible password."""
    scheme, _, rest = settings.env[URL_VARIABLE].partition("://")
    return f"{scheme}://{rest.rpartition('@')[2].partition('?')[0]}" if rest else ""


def _find_write_problems(cache: SharedCache) -> Iterator[Problem]:
    """Find write problems by writing a test head and a pack of maximum size. Their names are
    fixed."""
    keys, uploads = cache.link.keys, cache.uploads
    head = build_head_name(cache.link.scope, _TRIAL)
    name, pack = seal_object(keys, ObjectKind.PACK, Random(0).randbytes(PACK_BYTES))  # noqa: S311
    sealed = seal_head(keys, head, b"trial")
    trials: dict[ObjectName, bytes | None] = {head: sealed, name: pack}
    seconds = cache.link.upload_s
    try:
        for put in [uploads.put(head, sealed), uploads.put(name, pack)]:
            put.result(seconds)
        calls = {one: uploads.get(one) for one in trials if cache.link.reads}
        got = {one: call.result(seconds) for one, call in calls.items()}
    except Exception as error:  # noqa: BLE001: whatever it is, it is told
        message = f"the shared cache cannot be written: {describe_error(error)}"
        yield Problem("cache/remote-off", message, _suggest_fix(error))
        return
    if any(trials[one] != content for one, content in got.items()):
        message = "the shared cache accepted a test object, but did not return it"
        yield Problem("cache/remote-off", message, _NOT_A_CACHE)


def _suggest_fix(error: Exception) -> str:
    match error:
        case OversizedError():
            return _LARGE
        case CarrierRefusedError():
            return _LOCKED
        case _:
            return _BROKEN


def check_shared_cache(settings: Settings) -> Iterator[Check]:
    """Check a configured shared cache. Problems are warnings, because runs work without it."""
    found = look_at_shared(settings)
    if found is None:
        return
    if found.problems:
        yield from (make_warning_check("shared-cache", problem) for problem in found.problems)
        return
    ways = " and ".join(
        word for word, is_so in (("read", found.reads), ("write", found.writes)) if is_so
    )
    answered = f"`{found.place}` responds in {found.ms} ms ({ways})"
    yield make_passed_check("shared-cache", f"{answered}: {found.tasks} tasks")
