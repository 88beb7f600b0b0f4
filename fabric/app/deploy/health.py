"""Health check URLs of a service, and their problems that are visible without a call."""

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from fabric.config.values import Config, HttpTrigger
from fabric.model.catalog import format_provider_title
from fabric.model.problems import Problem
from fabric.providers.core.contract import Deployer, PerFunctionEndpoints, Released, Unsupported

_KEYS = ("deploy", "healthCheck", "url")


class _HealthRoute(Struct, frozen=True):
    """A route that can be called without a body."""

    function: str
    path: str
    # The path that the function's output URL ends with.
    first: str


def list_health_urls(config: Config, deployer: Deployer, released: Released) -> tuple[str, ...]:
    """List the health check URLs. All of them must respond."""
    said = config.deploy.health_check_url
    if "://" in said or not isinstance(deployer, PerFunctionEndpoints):
        return (build_health_url(said, released.endpoint),)
    outputs = dict(released.outputs)
    found = (_build_route_address(one, outputs) for one in _select_health_routes(config, said))
    return tuple(one for one in found if one)


def build_health_url(said: str, endpoint: str) -> str:
    """Build the health check URL: the path is appended to the endpoint and its path."""
    if not said or "://" in said:
        return said or endpoint
    return f"{endpoint.rstrip('/')}/{said.lstrip('/')}"


def find_health_misfits(config: Config, deployer: Deployer) -> Iterator[Unsupported]:
    """Find health check paths that match no function, if functions have separate endpoints."""
    said, is_enabled = config.deploy.health_check_url, config.deploy.health_check_enabled
    if not is_enabled or "://" in said or not isinstance(deployer, PerFunctionEndpoints):
        return
    if not _select_health_routes(config, said):
        what = f"url `{said}` is not a GET route" if said else "no url is set"
        message = (
            f"invalid `deploy.healthCheck` of `{config.service}`: {what} "
            f"(each function has a separate URL on {format_provider_title(config.provider.id)})"
        )
        hint = "set `deploy.healthCheck.url` to a GET route without parameters, or to a full URL"
        yield Unsupported(
            "", Problem("config/unfit", message, hint), keys=_KEYS[: 3 if said else 2]
        )


def _select_health_routes(config: Config, said: str) -> Sequence[_HealthRoute]:
    """Select the routes of this path, or without a path the first route of each function."""
    if said:
        return [
            one for one in _list_health_routes(config) if one.path.strip("/") == said.strip("/")
        ]
    first: dict[str, _HealthRoute] = {}
    for one in _list_health_routes(config):
        first.setdefault(one.function, one)
    return list(first.values())


def _list_health_routes(config: Config) -> Iterator[_HealthRoute]:
    for function in config.functions:
        http = [one for one in function.triggers if isinstance(one, HttpTrigger)]
        for one in http:
            if one.method.upper() in ("GET", "ANY") and "{" not in one.path:
                yield _HealthRoute(function.name, one.path, http[0].path)


def _build_route_address(route: _HealthRoute, outputs: Mapping[str, str]) -> str:
    base = outputs.get(f"url_{route.function}", "").removesuffix(f"/{route.first.lstrip('/')}")
    return build_health_url(route.path, base) if base else ""
