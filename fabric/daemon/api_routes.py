"""The routes of both servers in one table, used for routing, documentation and tests."""

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from fabric.daemon import answer_schemas as schemas
from fabric.daemon.endpoints import ConfigEndpoints, Endpoints
from fabric.daemon.http_types import ApiAnswer, ApiCall, ApiRoute, GoodAnswer, Right, RouteDocs
from fabric.daemon.parameters import CONFIRM, FUNCTION, PROVIDER, STAGE, WAIT, Parameter

_LOOKING = (400, 409, 502)
_CHANGING = (400, 409, 502, 503)


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
