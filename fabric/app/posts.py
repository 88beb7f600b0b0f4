"""From services to where their records lie, and from there to open back ends."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from fabric.app.endpoints import foreign_database, foreign_endpoints, foreign_problem
from fabric.app.files import calling_environment, sources_of
from fabric.app.left_payloads import sweep_payloads
from fabric.app.post import Post
from fabric.app.settings import Settings
from fabric.config.rules.env_size import fullest
from fabric.config.values import BackendKind
from fabric.graph.compile import Unit
from fabric.model.problems import FabricError
from fabric.model.records.record import Mode, Record, RecordRef
from fabric.state.backends.unavailable import Nothing
from fabric.state.store import Shelf, Stores

# These lie below the project's own folder: each project has its own.
_AT_HOME = ("local", "sql")


def post_in(unit: Unit, workspace: Path, kind: BackendKind) -> Post:
    """Where the record would lie in a back end of another kind than the config's."""
    settings = unit.config.backend.settings_of(kind)
    return replace(post_of(unit, workspace), backend=kind.value, settings=settings)


def post_of(unit: Unit, workspace: Path, home: str = "") -> Post:
    config = unit.config
    folder = workspace / unit.root
    return Post(
        config.service,
        config.stage,
        config.provider.label,
        config.provider.id,
        config.provider.region,
        Mode(unit.mode).value,
        str(folder),
        home or str(folder / ".fabric"),
        config.backend.kind.value,
        config.backend.settings,
        config.labels,
        _taken(unit),
    )


def _taken(unit: Unit) -> tuple[int, tuple[tuple[str, int], ...]]:
    if not unit.late:
        return 0, ()
    size, names = fullest(unit.config)
    counts: Counter[str] = Counter()
    for name, release in unit.late:
        counts[release] += names[name]
    return size, tuple((release, count) for release, count in counts.items() if count)


def as_recorded(own: Post, record: Record) -> Post:
    """A record says itself how it was deployed: that is how it is met again."""
    return replace(
        own,
        provider=record.ref.provider,
        provider_id=record.provider_id,
        region=record.region,
        mode=record.mode.value,
    )


def refuse_foreign(post: Post, process: Mapping[str, str]) -> None:
    """Another store than the one that is meant would be as bad as the wrong host."""
    sources = sources_of(Path(post.folder), process)
    prefixes = (post.backend.upper(), *(("AWS_",) if post.backend == "objstore1" else ()))
    names = [name for name in foreign_endpoints(sources) if name.startswith(prefixes)]
    names += foreign_database(sources, dict(post.settings)) if post.backend == "sql" else ()
    if names:
        raise FabricError(*(foreign_problem(sources, name) for name in names))


class Shelves:
    """The back ends of a run, each opened once, when it is first asked for.

    Blind ones know of nothing: for previews without credentials for the state.
    """

    def __init__(self, settings: Settings, *, blind: bool = False) -> None:
        self._settings = settings
        self._blind = blind
        self._open: dict[tuple[object, ...], Stores] = {}

    def of(self, posts: Iterable[Post]) -> Mapping[RecordRef, Shelf]:
        return {post.ref: self.shelf(post) for post in posts}

    def shelf(self, post: Post) -> Shelf:
        sweep_payloads(Path(post.home))
        key = (post.backend, post.settings, self._surroundings(post))
        if key not in self._open:
            self._open[key] = self._opened(post)
        return Shelf(Path(post.home), self._open[key])

    def _surroundings(self, post: Post) -> object:
        """What else tells one store from another: the folder, or the credentials."""
        if post.backend in _AT_HOME:
            return post.home
        return frozenset(calling_environment(Path(post.folder), self._settings.env).items())

    def _opened(self, post: Post) -> Stores:
        if self._blind:
            nothing = Nothing()
            return Stores(nothing, nothing)
        from fabric.state.backends.registry import open_backend

        refuse_foreign(post, self._settings.env)
        env = calling_environment(Path(post.folder), self._settings.env)
        return open_backend(BackendKind(post.backend), dict(post.settings), env, Path(post.home))

    def close(self) -> None:
        for stores in self._open.values():
            stores.close()
