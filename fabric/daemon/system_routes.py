"""Routes about the server itself: health, readiness, metrics and API description."""

from collections.abc import Callable, Sequence

from msgspec import Struct

from fabric.daemon import answer_schemas as schemas
from fabric.daemon.http_types import ApiAnswer, ApiCall, ApiRoute, GoodAnswer, Right, RouteDocs
from fabric.daemon.metrics import CONTENT_TYPE, Metrics
from fabric.daemon.openapi import build_openapi_document
from fabric.daemon.readiness import Readiness
from fabric.daemon.statuses import NOT_NOW, OK
from fabric.manifest import VERSION
from fabric.model.checks import Check
from fabric.model.outcomes.json_struct import Json


class ServerItself(Struct, frozen=True):
    """The server."""

    # Its name.
    kind: str
    readiness: Readiness
    metrics: Metrics
    # Set before its end.
    is_draining: Callable[[], bool]
    is_insecure: bool
    has_keys: bool


def build_system_routes(server: ServerItself, others: Sequence[ApiRoute]) -> tuple[ApiRoute, ...]:
    def health(_: ApiCall) -> ApiAnswer:
        return ApiAnswer(OK, {"ok": True})

    def version(_: ApiCall) -> ApiAnswer:
        return ApiAnswer(OK, {"ok": True, "version": VERSION, "server": server.kind})

    def ready(_: ApiCall) -> ApiAnswer:
        return _check_ready(server)

    def metrics(_: ApiCall) -> ApiAnswer:
        return ApiAnswer(OK, text=server.metrics.text(), content_type=CONTENT_TYPE)

    def describe_api(_: ApiCall) -> ApiAnswer:
        return ApiAnswer(OK, build_openapi_document(routes, VERSION, has_keys=server.has_keys))

    own = (
        ApiRoute(
            method="GET",
            path="/healthz",
            name="healthz",
            right=Right.OPEN,
            answer=health,
            is_free=True,
            docs=RouteDocs(
                about="Check that the server is running.", good=(GoodAnswer(schemas.HEALTHY),)
            ),
        ),
        ApiRoute(
            method="GET",
            path="/readyz",
            name="readyz",
            right=Right.LOOK,
            answer=ready,
            docs=RouteDocs(
                about="Check that the server is ready.",
                good=(GoodAnswer(schemas.READY), GoodAnswer(schemas.READY, NOT_NOW)),
            ),
        ),
        ApiRoute(
            method="GET",
            path="/version",
            name="version",
            right=Right.LOOK,
            answer=version,
            docs=RouteDocs(
                about="Show the version of the server.", good=(GoodAnswer(schemas.VERSION),)
            ),
        ),
        ApiRoute(
            method="GET",
            path="/metrics",
            name="metrics",
            right=Right.LOOK,
            answer=metrics,
            docs=RouteDocs(
                about="Metrics in the Prometheus format.",
                good=(GoodAnswer(schemas.TEXT, content="text/plain"),),
            ),
        ),
        ApiRoute(
            method="GET",
            path="/openapi.json",
            name="openapi",
            right=Right.LOOK,
            answer=describe_api,
            docs=RouteDocs(about="This OpenAPI document.", good=(GoodAnswer(schemas.ANYTHING),)),
        ),
    )
    routes = (*others, *own)
    return own


def _check_ready(server: ServerItself) -> ApiAnswer:
    checks = server.readiness.checks()
    is_draining = server.is_draining()
    is_ready = not is_draining and not any(one.is_error for one in checks)
    document: dict[str, Json] = {
        "ok": is_ready,
        "insecure": server.is_insecure,
        "draining": is_draining,
        "checks": {one.name: _check(one) for one in checks},
    }
    return ApiAnswer(OK if is_ready else NOT_NOW, document)


def _check(check: Check) -> Json:
    said: dict[str, Json] = {"ok": check.ok, "message": check.message}
    return {**said, "hint": check.fix} if check.fix else said
