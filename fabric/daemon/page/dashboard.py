"""The dashboard: its files, the stage status, its sessions, and their addresses."""

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from itertools import islice
from typing import Protocol

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from fabric.app.request import Where
from fabric.app.settings import Settings
from fabric.app.stage_status import StageNow, StagePlan, StageStatus, stage_now, stage_status
from fabric.daemon import answer_schemas as schemas
from fabric.daemon.http_types import ApiAnswer, ApiCall, ApiRoute, GoodAnswer, Right, RouteDocs
from fabric.daemon.options import ServedProject
from fabric.daemon.page.assets import FILE_TYPES, KEY_FORM, PageFiles
from fabric.daemon.parameters import STAGE
from fabric.daemon.runs.daemon_run import DaemonRun
from fabric.daemon.server.sessions import SESSION_SECONDS, BrowserSessions
from fabric.daemon.statuses import NO_CONTENT, OK
from fabric.manifest import VERSION
from fabric.model.outcomes.deployed import PastDeployment
from fabric.model.outcomes.json_struct import Json, JsonObject
from fabric.model.problems import FabricError, Problem
from fabric.model.records.record import Record
from fabric.model.report import encode_problem
from fabric.views.pictures.draw import encode_placed_drawing
from fabric.views.pictures.drawing import build_drawing

# Of so many runs of a stage it is looked up how long they took.
_TIMED = 20
_TITLE, _WORDS = "<title>fabric</title>", "<!-- first words -->"
_UNCHANGED = GoodAnswer({}, 304)
_DONE = GoodAnswer({}, 204)


class KnownRuns(Protocol):
    def list(self) -> tuple[DaemonRun, ...]: ...
    def get(self, run: str) -> DaemonRun: ...


class ShownProject(Struct, frozen=True):
    """The shown project."""

    project: ServedProject
    # Those of its workspace.
    settings: Settings
    runs: KnownRuns


class Dashboard:
    """The dashboard. `sessions` is None if no key is required."""

    def __init__(self, shown: ShownProject, sessions: BrowserSessions | None) -> None:
        self._shown, self._sessions = shown, sessions
        self._files = PageFiles()

    def page(self, call: ApiCall) -> ApiAnswer:
        """Answer with the page. Unauthorized callers see only the sign-in form."""
        if call.right is Right.OPEN:
            return self._files.answer(call, KEY_FORM)
        found = self._read_stage(call)
        return self._files.page(call, lambda page: with_first_words(page, found))

    def _read_stage(self, call: ApiCall) -> StageNow | FabricError:
        shown = self._shown
        where = Where(shown.project.config, stage=call.query.one(STAGE) or shown.project.stage)
        try:
            return stage_now(where, shown.settings)
        except FabricError as error:  # the page tells it once more, with all that is to be said
            return error

    def file(self, call: ApiCall) -> ApiAnswer:
        name = call.values["file"]
        if name not in self._files.names:
            raise FabricError(Problem("request/no-such-path", "path not found"))
        return self._files.answer(call, name)

    def status(self, call: ApiCall) -> ApiAnswer:
        shown = self._shown
        stage = call.query.one(STAGE) or shown.project.stage
        found = stage_status(Where(shown.project.config, stage=stage), shown.settings)
        runs = self._list_deploys(found.service, found.stage)
        document = {
            **_encode_status(found, _deploy_times(runs)),
            "mayChange": call.right is Right.CHANGE,
            "signedIn": self._sessions is not None,
            "version": VERSION,
        }
        return ApiAnswer(OK, document)

    def sign_in(self, call: ApiCall) -> ApiAnswer:
        """Sign in with the key itself. A session cannot create another one."""
        if self._sessions is None or "x-api-key" not in call.headers:
            hint = "send the key in the header `X-API-Key`"
            raise FabricError(Problem("request/no-key", "a valid API key is required", hint))
        token = self._sessions.begin(call.right)
        return ApiAnswer(NO_CONTENT, headers={"Set-Cookie": self._build_cookie(call, token)})

    def sign_out(self, call: ApiCall) -> ApiAnswer:
        if self._sessions is not None:
            self._sessions.end(self._sessions.token_in(call.headers.get("cookie", "")))
        return ApiAnswer(NO_CONTENT, headers={"Set-Cookie": self._build_cookie(call, "")})

    def _build_cookie(self, call: ApiCall, token: str) -> str:
        """Build the cookie. It is `Secure` if the request's origin is https; only own pages can
        request it."""
        name = self._sessions.cookie if self._sessions else ""
        age = SESSION_SECONDS if token else 0
        is_tls = call.headers.get("origin", "").lower().startswith("https://")
        secure = "; Secure" if is_tls else ""
        return f"{name}={token}; Path=/; Max-Age={age}; HttpOnly; SameSite=Strict{secure}"

    def _list_deploys(self, service: str, stage: str) -> Iterator[DaemonRun]:
        runs = self._shown.runs
        own = (
            one.id
            for one in runs.list()
            if (one.command, one.service, one.stage) == ("deploy", service, stage)
        )
        for run in islice(own, _TIMED):
            try:
                yield runs.get(run)
            except FabricError:  # it was the oldest, and is gone
                continue


def with_first_words(page: str, found: StageNow | FabricError) -> str:
    title, words = _build_parts(found)
    named = page.replace(_TITLE, f"<title>{escape(title)}</title>")
    return named.replace(_WORDS, "".join(words))


def _build_parts(found: StageNow | FabricError) -> tuple[str, Iterator[str]]:
    if isinstance(found, FabricError):
        return "fabric", iter((f"<p>{escape(found.first.message)}</p>",))
    return f"{found.service} · {found.stage}", _format_stage(found)


def _format_stage(found: StageNow) -> Iterator[str]:
    place = f"<b>{escape(found.service)}</b> in <b>{escape(found.stage)}</b>"
    if not found.live:
        yield f"<p>{place} has no deployments.</p>"
    for record in found.live:
        yield (
            f"<p>{place} on "
            f"{escape(record.ref.provider)}:</p><dl>{''.join(_format_rows(record))}</dl>"
        )


def _format_rows(record: Record) -> Iterator[str]:
    rows = {
        "deployment": record.deployment_id,
        "mode": record.mode.value,
        "deployed": record.updated_at,
        "endpoint": record.endpoint,
        **dict(record.outputs),
    }
    for name, value in rows.items():
        yield f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>"


def _encode_status(status: StageStatus, took: Mapping[str, int]) -> JsonObject:
    """Encode the status. `took` are known deployment durations."""
    planned = status.planned
    return {
        "ok": True,
        "service": status.service,
        "provider": status.provider,
        "stage": status.stage,
        "stages": status.stages,
        "protected": status.is_protected,
        "live": [_encode_record(one) for one in status.live],
        "releases": [_release(one, took) for one in status.releases],
        "plan": None if planned is None else _plan(planned),
        "graph": None
        if planned is None
        else encode_placed_drawing(build_drawing(planned.plan).remove_implied_edges()),
        "warnings": [encode_problem(one) for one in planned.warnings] if planned else [],
        "problems": [encode_problem(one) for one in status.problems],
    }


def _deploy_times(runs: Iterator[DaemonRun]) -> dict[str, int]:
    """Return the durations in milliseconds by deployment, from their runs."""
    found: dict[str, int] = {}
    for run in runs:
        result = run.result or {}
        summary, rows = result.get("summary"), result.get("deployments")
        if not (isinstance(summary, dict) and isinstance(rows, list)):
            continue
        ended = [one for one in rows if isinstance(one, dict) and one.get("status") == "deployed"]
        found |= {str(one.get("deploymentId")): int(summary["ms"]) for one in ended}
    return found


def _encode_record(record: Record) -> Json:
    functions: list[Json] = [
        {"name": one.name, "endpoint": one.endpoint, "updatedAt": one.updated_at}
        for one in record.functions
    ]
    return {
        "provider": record.ref.provider,
        "mode": record.mode.value,
        "lifecycle": record.lifecycle.value,
        "deploymentId": record.deployment_id,
        "endpoint": record.endpoint,
        "outputs": dict(record.outputs),
        "functions": functions,
        "unfinished": len(record.pending),
        "updatedAt": record.updated_at,
    }


def _release(row: PastDeployment, took: Mapping[str, int]) -> Json:
    told: dict[str, Json] = to_builtins(row)
    return {**told, "ms": took.get(row.deployment_id)}


def _plan(planned: StagePlan) -> Json:
    """Encode the plan, with the tasks of the graph."""
    bare = replace(planned.outcome, tasks=(), levels=(), warnings=())
    told: dict[str, Json] = to_builtins(bare)
    return {name: told[name] for name in ("mode", "services", "summary")}


def build_dashboard_routes(dashboard: Dashboard, *, has_keys: bool) -> Sequence[ApiRoute]:
    """Build the routes. Without keys there is no sign-in."""
    page = GoodAnswer(schemas.TEXT, content="text/html")
    files = tuple(GoodAnswer(schemas.TEXT, content=one) for one in FILE_TYPES)
    own = (
        ApiRoute(
            method="GET",
            path="/",
            name="dashboard",
            right=Right.OPEN,
            answer=dashboard.page,
            docs=RouteDocs(
                about="The dashboard, or its sign-in form.",
                parameters=(STAGE,),
                good=(page, _UNCHANGED),
            ),
        ),
        ApiRoute(
            method="GET",
            path="/dashboard/<file>",
            name="dashboard-file",
            right=Right.OPEN,
            answer=dashboard.file,
            is_free=True,
            docs=RouteDocs(
                about="A style sheet or a script of the dashboard.",
                good=(*files, _UNCHANGED),
                statuses=(404,),
            ),
        ),
        ApiRoute(
            method="GET",
            path="/dashboard/status",
            name="dashboard-status",
            right=Right.LOOK,
            answer=dashboard.status,
            docs=RouteDocs(
                about="The status of a stage of the project of the daemon.",
                parameters=(STAGE,),
                good=(GoodAnswer(schemas.STATUS),),
                statuses=(409, 502),
            ),
        ),
    )
    return (*own, *(_build_session_routes(dashboard) if has_keys else ()))


def _build_session_routes(dashboard: Dashboard) -> Sequence[ApiRoute]:
    return (
        ApiRoute(
            method="POST",
            path="/session",
            name="sign-in",
            right=Right.LOOK,
            answer=dashboard.sign_in,
            docs=RouteDocs(
                about="Start a browser session with an API key. The response sets a cookie.",
                good=(_DONE,),
            ),
        ),
        ApiRoute(
            method="DELETE",
            path="/session",
            name="sign-out",
            right=Right.OPEN,
            answer=dashboard.sign_out,
            docs=RouteDocs(about="End the browser session of the cookie.", good=(_DONE,)),
        ),
    )
