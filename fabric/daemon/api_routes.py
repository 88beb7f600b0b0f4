"""The routes of both servers in one table, used for routing, documentation and tests."""

from collections.abc import Callable, Iterator, Sequence

from msgspec.structs import replace

from fabric.daemon import answer_schemas as schemas
from fabric.daemon.endpoints import ConfigEndpoints, Endpoints
from fabric.daemon.http_types import ApiAnswer, ApiCall, ApiRoute, GoodAnswer, Right, RouteDocs
from fabric.daemon.parameters import CONFIRM, FUNCTION, LIMIT, PROVIDER, STAGE, WAIT, Parameter
from fabric.daemon.runs.daemon_run import run_document
from fabric.daemon.runs.event_lines import StreamItem, encode_sse
from fabric.daemon.runs.run_files import KEPT_RUNS
from fabric.daemon.runs.runs import Runs
from fabric.daemon.runs.streams import RunStream
from fabric.daemon.statuses import NO_CONTENT, OK
from fabric.model.problems import FabricError, Problem

_LOOKING = (400, 409, 502)
_CHANGING = (400, 409, 502, 503)
_LAST_EVENT = "last-event-id"
_STREAM = "text/event-stream"
_DIGITS = 3


def build_config_routes(endpoints: ConfigEndpoints) -> Sequence[ApiRoute]:
    """Build the routes of the Configuration API, which the daemon has too."""
    own = (
        _build_config_route(
            "validate",
            endpoints.validate,
            "Check a config for errors.",
            (STAGE, PROVIDER),
            schemas.VALIDATED,
        ),
        _build_config_route(
            "resolve",
            endpoints.resolve,
            "Resolve a config for a stage, with secrets redacted.",
            (STAGE, PROVIDER),
            schemas.RESOLVED,
        ),
    )
    return tuple(replace(one, only_computes=True) for one in own)


def deploy_routes(endpoints: Endpoints) -> Sequence[ApiRoute]:
    """Build the routes of the daemon only."""
    return (
        _build_config_route(
            "plan",
            endpoints.plan,
            "Plan a deploy: the changes and their reasons.",
            (STAGE, PROVIDER, FUNCTION),
            schemas.PLANNED,
        ),
        _build_config_route(
            "releases",
            endpoints.releases,
            "List current deployments and rollback targets.",
            (STAGE, PROVIDER),
            schemas.RELEASES,
        ),
        _require_change_right(
            _build_config_route(
                "deploy",
                endpoints.deploy,
                "Deploy a service.",
                (STAGE, PROVIDER, FUNCTION, CONFIRM, WAIT),
                schemas.DEPLOYED,
            )
        ),
        _require_change_right(
            _build_config_route(
                "remove",
                endpoints.remove,
                "Remove a deployed service.",
                (STAGE, PROVIDER, FUNCTION, CONFIRM, WAIT),
                schemas.REMOVED,
            )
        ),
    )


def _build_config_route(
    name: str,
    answer: Callable[[ApiCall], ApiAnswer],
    about: str,
    parameters: tuple[Parameter, ...],
    schema: schemas.Schema,
) -> ApiRoute:
    return ApiRoute(
        method="POST",
        path=f"/{name}",
        name=name,
        right=Right.LOOK,
        answer=answer,
        takes_config=True,
        docs=RouteDocs(
            about=about, parameters=parameters, good=(GoodAnswer(schema),), statuses=_LOOKING
        ),
    )


def _require_change_right(route: ApiRoute) -> ApiRoute:
    good = (*route.docs.good, GoodAnswer(schemas.ACCEPTED, 202))
    docs = replace(route.docs, good=good, statuses=_CHANGING)
    return replace(route, right=Right.CHANGE, docs=docs)


class RunEndpoints:
    def __init__(self, runs: Runs) -> None:
        self._runs = runs

    def list(self, call: ApiCall) -> ApiAnswer:
        shown = self._runs.list()[: _limit(call.query.one(LIMIT))]
        return ApiAnswer(OK, {"ok": True, "runs": [run_document(one) for one in shown]})

    def show(self, call: ApiCall) -> ApiAnswer:
        return ApiAnswer(OK, {"ok": True, "run": run_document(self._runs.get(call.values["run"]))})

    def stop(self, call: ApiCall) -> ApiAnswer:
        found = self._runs.stop(call.values["run"])
        return ApiAnswer(OK, {"ok": True, "run": run_document(found)})

    def events(self, call: ApiCall) -> ApiAnswer:
        stream = self._runs.stream(call.values["run"], _number(call.headers.get(_LAST_EVENT, "0")))
        first = next(stream, None)
        if first is None:
            return ApiAnswer(NO_CONTENT)  # a browser asks no more
        return ApiAnswer(OK, content_type=_STREAM, chunks=SseBody(first, stream))


class SseBody:
    """A stream as bytes. Closing it frees its slot."""

    def __init__(self, first: StreamItem, stream: RunStream) -> None:
        self._first: StreamItem | None = first
        self._stream = stream

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        first, self._first = self._first, None
        return encode_sse(next(self._stream) if first is None else first).encode()

    def close(self) -> None:
        self._stream.close()


def run_routes(endpoints: RunEndpoints) -> Sequence[ApiRoute]:
    one, of_run = "/runs/<run>", (404,)
    return (
        ApiRoute(
            method="GET",
            path="/runs",
            name="runs",
            right=Right.LOOK,
            answer=endpoints.list,
            docs=RouteDocs(
                about="List the runs, newest first.",
                parameters=(LIMIT,),
                good=(GoodAnswer(schemas.RUNS),),
            ),
        ),
        ApiRoute(
            method="GET",
            path=one,
            name="run",
            right=Right.LOOK,
            answer=endpoints.show,
            docs=RouteDocs(
                about="Show a run and its result.", good=(GoodAnswer(schemas.RUN),), statuses=of_run
            ),
        ),
        ApiRoute(
            method="DELETE",
            path=one,
            name="stop",
            right=Right.CHANGE,
            answer=endpoints.stop,
            docs=RouteDocs(
                about="Stop a run. A second request cancels it immediately.",
                good=(GoodAnswer(schemas.RUN),),
                statuses=of_run,
            ),
        ),
        ApiRoute(
            method="GET",
            path=f"{one}/events",
            name="events",
            right=Right.LOOK,
            answer=endpoints.events,
            docs=RouteDocs(
                about="Stream the events of a run. `Last-Event-ID` resumes after that event.",
                good=(GoodAnswer(schemas.EVENT, content=_STREAM), GoodAnswer({}, NO_CONTENT)),
                statuses=of_run,
            ),
        ),
    )


def _limit(text: str) -> int:
    """Return the limit; all without the parameter."""
    if not text:
        return KEPT_RUNS
    if text.isascii() and text.isdecimal() and len(text) <= _DIGITS and 1 <= int(text) <= KEPT_RUNS:
        return int(text)
    problem = Problem("usage/bad-value", f"invalid value for `limit`: `{text}` (1 to {KEPT_RUNS})")
    raise FabricError(problem)


def _number(text: str) -> int:
    if text.isascii() and text.isdecimal() and len(text) < 10:  # noqa: PLR2004 - so many events there are never
        return int(text)
    raise FabricError(Problem("request/malformed", "invalid Last-Event-ID"))
