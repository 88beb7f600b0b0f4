"""Build a server: its environment, runs, routes and application.

This module decides which parts the daemon has beyond the Configuration API.
"""

import contextlib
import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from fabric.app.caching.cache_place import read_user_seal
from fabric.app.project.files import find_config_in
from fabric.app.request import Where
from fabric.app.settings import Settings
from fabric.daemon.actions import Actions, build_action_routes
from fabric.daemon.api_routes import RunEndpoints, build_config_routes, deploy_routes, run_routes
from fabric.daemon.application import Application, NoRuns, ServerSurroundings
from fabric.daemon.cache.answers import AnswerSeal, CachedAnswers, Store, hash_owner
from fabric.daemon.cache.pending_invalidations import PendingInvalidations
from fabric.daemon.changes import AfterChange, WorldChanges
from fabric.daemon.endpoints import ConfigEndpoints, Endpoints, find_served_workspace
from fabric.daemon.http_types import ApiRoute, RequestOrigin
from fabric.daemon.metrics import Gauge, Metrics
from fabric.daemon.options import ServerKind, ServerOptions
from fabric.daemon.page.dashboard import Dashboard, ShownProject, build_dashboard_routes
from fabric.daemon.readiness import Look, Readiness, check_config_readable, reach_check
from fabric.daemon.request_spans import RequestSpans, request_spans
from fabric.daemon.runs.runs import Runs
from fabric.daemon.server.sessions import BrowserSessions
from fabric.daemon.system_routes import ServerItself, build_system_routes
from fabric.daemon.web import build_web_app
from fabric.engine.bus import Listener, RunInfo
from fabric.manifest import VERSION
from fabric.model.bindable import EVERYTHING
from fabric.model.checks import Check, make_passed_check, make_warning_check
from fabric.model.problems import FabricError, Problem
from fabric.model.report import Report
from fabric.model.runs.events import Stamped, TaskEnded

# Runs as figures: how they ended, how their tasks did, and how often a lock was in the way.


class RunCounts:
    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    def listeners(self, info: RunInfo) -> Sequence[Listener]:
        del info
        return (_TaskFigures(self._metrics),)

    def count_end(self, outcome: Report | FabricError) -> None:
        problems = outcome.problems
        self._metrics.count("fabric_runs_total", outcome="failed" if problems else "succeeded")
        if any(one.code == "lock/held" for one in problems):
            self._metrics.count("fabric_locks_waited_total")


class _TaskFigures:
    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    def hear(self, event: Stamped) -> None:
        if isinstance(event.event, TaskEnded):
            self._metrics.count("fabric_tasks_total", outcome=event.event.status)

    def close(self) -> None:
        return


if TYPE_CHECKING:
    from fabric.daemon.cache.redis_store import RedisStore

_CACHED = ("validate", "resolve", "plan", "releases")


def build_application(around: ServerSurroundings) -> Application:
    if around.options.kind is ServerKind.DAEMON:
        return _build_daemon(around)
    return _build_config_api(around)


def _build_config_api(around: ServerSurroundings) -> Application:
    options, settings = around.options, around.settings
    endpoints = ConfigEndpoints(options, settings, has_keys=around.has_keys)
    metrics = Metrics()
    spans = _open_request_spans(around, metrics)
    own = build_config_routes(endpoints)
    routes = (*own, *build_system_routes(_describe_server(around, Readiness({}), metrics), own))
    closing = spans.close if spans else lambda: None
    return Application(build_web_app(routes), routes, NoRuns(), closing)


def _build_daemon(around: ServerSurroundings) -> Application:
    options, settings = around.options, around.settings
    workspace = find_served_workspace(options, settings)
    own = workspace / ".fabric" / "daemon"
    owed = _open_owed_clears(around, own)
    runs = Runs(own / "runs", settings, around.log.write_failure, tell_lost=owed.keep_all)
    metrics = Metrics(_list_gauges(runs))
    spans = _open_request_spans(around, metrics)
    with contextlib.ExitStack() as stack:
        store = _store(options, owed, stack)
        counts = RunCounts(metrics)
        after = _make_after_change(owed.add if store is None else store.clear, counts)
        changes = WorldChanges(runs, after, _make_listener_factory(counts, spans))
        endpoints = Endpoints(options, settings, changes, has_keys=around.has_keys)
        routes = [*build_config_routes(endpoints), *deploy_routes(endpoints)]
        if store is not None:
            routes = _cache_routes(routes, endpoints, around, store, metrics)
        routes += [*build_action_routes(Actions(endpoints)), *run_routes(RunEndpoints(runs))]
        sessions = _open_sessions(around, workspace)
        routes += _build_page_routes(around, runs, sessions)
        readiness = Readiness(_list_readiness_checks(options, settings, store))
        routes += build_system_routes(_describe_server(around, readiness, metrics), routes)
        if spans is not None:
            stack.callback(spans.close)
        closing = stack.pop_all()
    closing.callback(runs.close)
    return Application(build_web_app(routes), tuple(routes), runs, closing.close, sessions)


def _open_sessions(around: ServerSurroundings, workspace: Path) -> BrowserSessions | None:
    """Open sessions. The directory names the cookie, because cookies are shared by all ports of a
    host."""
    if not (around.has_keys and around.options.project.dashboard):
        return None
    name = hashlib.sha256(bytes(workspace)).hexdigest()[:8]
    settings = around.settings
    return BrowserSessions(f"fabric-{name}", settings.chance, settings.clock.monotonic)


def _build_page_routes(
    around: ServerSurroundings, runs: Runs, sessions: BrowserSessions | None
) -> Sequence[ApiRoute]:
    options, settings = around.options, around.settings
    if not options.project.dashboard:
        return ()
    own = replace(
        move_settings(find_served_workspace(options, settings), settings), bindable=EVERYTHING
    )
    shown = ShownProject(options.project, own, runs)
    return build_dashboard_routes(Dashboard(shown, sessions), has_keys=around.has_keys)


def _open_request_spans(around: ServerSurroundings, metrics: Metrics) -> RequestSpans | None:
    """Open the request spans, the receiver of requests beside the log."""
    log, settings = around.log, around.settings
    log.tell_too(metrics.count_request)
    spans = request_spans(settings.env, around.options.kind.value, log, settings.clock)
    if spans is not None:
        log.tell_too(spans.record_request)
    return spans


def _make_listener_factory(
    counts: RunCounts, spans: RequestSpans | None
) -> Callable[[RunInfo, RequestOrigin], Sequence[Listener]]:
    def listen(info: RunInfo, request: RequestOrigin) -> Sequence[Listener]:
        return (*counts.listeners(info), *(spans.listeners(info, request) if spans else ()))

    return listen


def _describe_server(
    around: ServerSurroundings, readiness: Readiness, metrics: Metrics
) -> ServerItself:
    return ServerItself(
        around.options.kind.value,
        readiness,
        metrics,
        lambda: around.life.is_draining,
        is_insecure=around.is_insecure,
        has_keys=around.has_keys,
    )


def _store(
    options: ServerOptions, owed: PendingInvalidations, stack: contextlib.ExitStack
) -> "RedisStore | None":
    if not options.cache.url:
        return None
    from fabric.daemon.cache.redis_store import RedisStore  # an extra of its own

    store = RedisStore(options.cache.url, options.cache.prefix, owed, options.cache.patience)
    stack.callback(store.close)
    store.pay()
    return store


def _open_owed_clears(around: ServerSurroundings, folder: Path) -> PendingInvalidations:
    cache, digest = around.options.cache, ""
    if cache.url:
        from fabric.daemon.cache.redis_store import cache_digest  # an extra of its own

        digest = cache_digest(cache.url, cache.prefix)
    tell = around.log.say
    return PendingInvalidations(
        folder / "owed-clears", lambda told: tell("cache", message=told), digest
    )


def _make_after_change(clear: Callable[[str], object], counts: RunCounts) -> AfterChange:
    """Build the callback after a change. A failed change counts too."""

    def handle_change_end(stage: str, outcome: Report | FabricError) -> None:
        counts.count_end(outcome)
        clear(stage)

    return handle_change_end


def _cache_routes(
    routes: Sequence[ApiRoute],
    endpoints: Endpoints,
    around: ServerSurroundings,
    store: Store,
    metrics: Metrics,
) -> list[ApiRoute]:
    options = around.options
    trust = (options.trust.is_full, options.trust.prefixes)
    workspace = str(find_served_workspace(options, around.settings))
    owner = hash_owner({"version": VERSION, "trust": trust, "workspace": workspace})
    seal = AnswerSeal(read_user_seal(around.settings), owner)
    answers = CachedAnswers(store, options.cache, seal, endpoints, metrics.count_lookup)
    return [
        replace(one, answer=answers.of(one.name, one.answer)) if one.name in _CACHED else one
        for one in routes
    ]


def _list_readiness_checks(
    options: ServerOptions, settings: Settings, store: "RedisStore | None"
) -> dict[str, Look]:
    """List the readiness checks of a server's own config and cache."""
    looks: dict[str, Look] = {}
    own = move_settings(find_served_workspace(options, settings), settings)
    if find_config_in(own.cwd / options.project.config).exists():
        where = Where(options.project.config, stage=options.project.stage).without_secrets()
        looks["config"] = lambda: check_config_readable(where, own)
        looks["backend"] = lambda: reach_check(where.for_records(), own)
    if store is not None:
        looks["cache"] = lambda: _check_cache_server(store)
    return looks


def _check_cache_server(store: "RedisStore") -> Check:
    if store.answers():
        return make_passed_check("cache", "the cache is reachable")
    message = "the response cache (Redis) is unreachable: serving requests without it"
    return make_warning_check(
        "cache", Problem("doctor/cache", message, "check that the Redis server is running")
    )


def _list_gauges(runs: Runs) -> tuple[Gauge, ...]:
    return (
        Gauge("fabric_runs_under_way", "Runs that are running or queued.", runs.under_way),
        Gauge("fabric_streams_open", "Open event streams.", lambda: runs.places.taken),
    )


def move_settings(workspace: Path, settings: Settings) -> Settings:
    return replace(settings, cwd=workspace)
