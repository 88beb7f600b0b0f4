"""The shared cache of a command: its access, its write permission and its commits."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from fabric.app.caching.cache_place import list_parent_caches, open_usable_cache
from fabric.app.request import Request
from fabric.app.settings import REMOTE_KEY_VARIABLE, REMOTE_TOKEN_VARIABLE, Settings
from fabric.manifest import VERSION
from fabric.model.hashing import hash_fields
from fabric.model.outcomes.built import RemoteUse
from fabric.model.problems import Problem
from fabric.model.runs.cache_modes import CacheModes, cache_modes
from fabric.model.secrets.secret import Secret
from fabric.model.time.time_spans import parse_seconds

if TYPE_CHECKING:
    from fabric.engine.shared.link import HeadTexts, SharedLink
    from fabric.engine.shared.shared_cache import SharedCache
    from fabric.engine.shared.stored_segments import StoredSegments
    from fabric.remote.opening import SharedCacheAddress

URL_VARIABLE = "FABRIC_REMOTE_CACHE_URL"
TEAM_VARIABLE = "FABRIC_REMOTE_CACHE_TEAM"
SCOPE_VARIABLE = "FABRIC_REMOTE_CACHE_SCOPE"
WAIT_VARIABLE = "FABRIC_REMOTE_CACHE_WAIT"
_WAIT = "3s"
_UPLOAD_S, _UPLOAD_IN_CI_S = 10.0, 60.0
_COMMITS = 5
# How machines that build checkouts of no branch call the one it is to go into.
_BASES = (
    "GITHUB_BASE_REF", "CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "CHANGE_TARGET",
    "BUILDKITE_PULL_REQUEST_BASE_BRANCH", "BITBUCKET_PR_DESTINATION_BRANCH",
    "SYSTEM_PULLREQUEST_TARGETBRANCHNAME",
)  # fmt: skip


class SharedAccess(Struct, frozen=True):
    """Access to a shared cache. Without one, `problem` can explain why."""

    cache: "SharedCache | None" = None
    problem: Problem | None = None

    @property
    def warnings(self) -> tuple[Problem, ...]:
        own = self.cache.warnings if self.cache else ()
        return (self.problem, *own) if self.problem else own

    def close(self) -> None:
        if self.cache is not None:
            self.cache.close()


NO_ACCESS = SharedAccess()


def use_of(shared: SharedAccess) -> RemoteUse | None:
    return shared.cache.use if shared.cache else None


def open_shared_cache(request: Request, settings: Settings) -> SharedAccess:
    """Open the shared cache and start its queries in the background."""
    access = open_access(request, settings)
    if access.cache is not None:
        access.cache.begin(open_kept_segments(request, settings))
    return access


def open_access(request: Request, settings: Settings) -> SharedAccess:
    """Open the access with this machine's permissions, without a call."""
    modes = cache_modes(request.caching.modes, settings.env)
    if not settings.env.get(URL_VARIABLE) or not modes.has_remote:
        return NO_ACCESS
    if not request.caching.use_cache:
        modes = CacheModes(reads_remote=False, writes_remote=modes.writes_remote)
    try:
        return _open_access(request, settings, modes)
    except ValueError as error:
        return SharedAccess(problem=_no_shared_cache_problem(f"invalid `{URL_VARIABLE}`: {error}"))


def _open_access(request: Request, settings: Settings, modes: CacheModes) -> SharedAccess:
    from fabric.engine.shared.background_uploads import BackgroundUploads
    from fabric.engine.shared.shared_cache import SharedCache
    from fabric.remote.opening import build_carrier_opener

    key = settings.own(REMOTE_KEY_VARIABLE)
    if not key:
        return SharedAccess(
            problem=_no_shared_cache_problem(f"`{REMOTE_KEY_VARIABLE}` is not set", _MAKE_KEY)
        )
    if not _is_token(settings.own(REMOTE_TOKEN_VARIABLE).reveal() or ""):
        return SharedAccess(
            problem=_no_shared_cache_problem(f"`{REMOTE_TOKEN_VARIABLE}` {_UNSENDABLE}")
        )
    uploads = BackgroundUploads(build_carrier_opener(read_cache_address(settings)))
    folder = find_base_folder(request, settings)
    try:
        link = link_of(request, settings, modes)
    except ValueError as error:
        return SharedAccess(
            problem=_no_shared_cache_problem(f"`{REMOTE_KEY_VARIABLE}`: {error}", _MAKE_KEY)
        )
    words = partial(list_head_names, folder, settings.env)
    ask_words = words if request.shard is None else lambda: words().of_part
    return SharedAccess(SharedCache(link, uploads, ask_words, settings.clock))


def read_cache_address(settings: Settings) -> "SharedCacheAddress":
    from fabric.remote.opening import SharedCacheAddress

    env = settings.env
    token = Secret((settings.own(REMOTE_TOKEN_VARIABLE).reveal() or "").strip() or None)
    team = env.get(TEAM_VARIABLE, "")
    return SharedCacheAddress(env[URL_VARIABLE], token, team, Secret(env), settings.cwd)


def _is_token(text: str) -> bool:
    """Return whether the text is a token. A final line break is ignored."""
    word = text.strip()
    return word.isascii() and word.isprintable() and " " not in word


def link_of(request: Request, settings: Settings, modes: CacheModes) -> "SharedLink":
    """Parse the cache link. Raises ValueError for an invalid key."""
    from fabric.engine.shared.link import MAIN, SharedLink
    from fabric.remote.seal import parse_seal_keys

    env = settings.env
    scope = env.get(SCOPE_VARIABLE) or MAIN
    wait_s = parse_seconds(WAIT_VARIABLE, env.get(WAIT_VARIABLE) or _WAIT, "usage/bad-value")
    upload_s = _UPLOAD_IN_CI_S if settings.in_ci else _UPLOAD_S
    if request.caching.upload_wait:
        upload_s = parse_seconds(
            "--remote-cache-upload-wait", request.caching.upload_wait, "usage/bad-value"
        )
    keys = parse_seal_keys(settings.own(REMOTE_KEY_VARIABLE).reveal() or "")
    cache = hash_fields((env[URL_VARIABLE], env.get(TEAM_VARIABLE, ""), scope, keys.first.id))
    return SharedLink(
        keys=keys,
        cache=cache,
        scope=scope,
        tool=VERSION,
        reads=modes.reads_remote,
        writes=modes.writes_remote,
        wait_s=wait_s,
        upload_s=upload_s,
        is_part=request.shard is not None,
    )


def find_base_folder(request: Request, settings: Settings) -> Path:
    """Return the directory of the requested config or compose file."""
    path = settings.cwd / (request.where.compose or request.where.config)
    return path if path.is_dir() else path.parent


def open_kept_segments(request: Request, settings: Settings) -> "StoredSegments":
    """Read results of earlier queries from the nearest cache, before the workspace is known."""
    from fabric.engine.shared.stored_segments import StoredSegments

    above = list_parent_caches(find_base_folder(request, settings), settings)
    found = next(filter(None, (open_usable_cache(one, settings) for one in above)), None)
    return StoredSegments(found.path if found else None)


def has_other_commit(request: Request, settings: Settings) -> bool:
    """Return whether the commit changed since the last query, so that the shared cache must be
    queried."""
    is_read = settings.env.get(URL_VARIABLE) and settings.own(REMOTE_KEY_VARIABLE)
    if not is_read or not cache_modes(request.caching.modes, settings.env).reads_remote:
        return False
    asked = open_kept_segments(request, settings).read_last_query()
    if asked is None:
        return False
    from fabric.system.git.git import find_commit

    return asked.commit != find_commit(find_base_folder(request, settings), settings.env)


def list_head_names(folder: Path, env: Mapping[str, str]) -> "HeadTexts":
    """List the commits to query, nearest first: this commit, its ancestors, then branches."""
    from fabric.engine.shared.link import HeadTexts
    from fabric.system.git.git import BRANCH_VARIABLES, find_checkout_state

    found = find_checkout_state(folder, env)
    if found is None:
        return HeadTexts("", (_read_latest_commit("", ""),), (_read_latest_commit("", ""),))
    own = found.branch or _find_first_value(env, BRANCH_VARIABLES)
    others = (_find_first_value(env, _BASES), found.default_branch)
    branches = dict.fromkeys(one for one in (own, *others) if one)
    commits = [f"commit/{one}" for one in (found.commit, *found.before)[:_COMMITS]]
    latest = [_read_latest_commit(found.repository, one) for one in branches] or [
        _read_latest_commit(found.repository, "")
    ]
    return HeadTexts(found.commit, (*commits, *latest), (commits[0], latest[0]))


def _read_latest_commit(repository: str, branch: str) -> str:
    return f"latest/{repository}/{branch}"


def _find_first_value(env: Mapping[str, str], names: tuple[str, ...]) -> str:
    return next((env[name] for name in names if env.get(name)), "")


_UNSENDABLE = "contains characters that are invalid in an HTTP header"
_MAKE_KEY = "run: fabric cache key, and set the same key on all machines"


def _no_shared_cache_problem(why: str, hint: str = "") -> Problem:
    message = f"running without the shared cache: {why}"
    return Problem("cache/remote-off", message, hint or f"fix this, or unset `{URL_VARIABLE}`")
