"""The desired HTTP API of a service on AWS. No effects."""

import json
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from fabric.model.cors import Cors, parse_cors_setting
from fabric.model.hashing import hash_fields
from fabric.model.problems import FabricError, Problem
from fabric.providers.cloud1.versions import build_alias_arn
from fabric.providers.core.contract import DeploymentAddress, LiveFunction

_NO_AUTHORIZER, _BY_KEY = "NONE", "AWS_IAM"


class GatewayRoute(Struct, frozen=True, order=True):
    key: str
    function: str
    alias: str
    authorization: str = _NO_AUTHORIZER
    number: int = 0


class DesiredGateway(Struct, frozen=True):
    name: str
    routes: tuple[GatewayRoute, ...]
    cors: tuple[Cors, ...] = ()

    @property
    def digest(self) -> str:
        routes = (f"{one.key} {one.alias} {one.authorization}" for one in self.routes)
        return hash_fields((self.name, *routes, "", *map(repr, self.cors)))

    @property
    def aliases(self) -> dict[str, str]:
        """Each function with a route, with its alias ARN."""
        return {one.function: one.alias for one in self.routes}


def plan_gateway(address: DeploymentAddress, functions: Sequence[LiveFunction]) -> DesiredGateway:
    routes, cors = [], []
    for one in functions:
        for number, trigger in enumerate(map(json.loads, one.triggers)):
            if trigger.get("type") != "http":
                continue
            key = f"{trigger.get('method') or 'GET'} {trigger.get('path') or '/'}"
            said = _choose_authorization(one.name, trigger.get("authorizer"))
            alias = build_alias_arn(one.resource_id)
            routes.append(GatewayRoute(key, one.name, alias, said, number))
            cors.append(parse_trigger_cors(trigger))
    found = dict.fromkeys(one for one in cors if one is not None)
    return DesiredGateway(f"{address.service}-{address.stage}", tuple(sorted(routes)), tuple(found))


def parse_trigger_cors(trigger: Mapping[str, object]) -> Cors | None:
    return parse_cors_setting(_format_cors(trigger.get("cors")))


def merge_cors(all_cors: Sequence[Cors]) -> dict[str, object]:
    """Merge the CORS settings of all routes: an API has one configuration."""
    credentials = any(one.credentials for one in all_cors)
    headers = _merge_values(one.headers for one in all_cors)
    found: dict[str, object] = {
        "AllowOrigins": _merge_values(one.origins for one in all_cors),
        "AllowMethods": _merge_values(one.methods for one in all_cors),
        "AllowHeaders": headers or ([] if credentials else ["*"]),
        "ExposeHeaders": _merge_values(one.exposed for one in all_cors),
        "AllowCredentials": credentials,
    }
    ages = [int(one.max_age) for one in all_cors if one.max_age.isdigit()]
    return {**found, "MaxAge": max(ages)} if ages else found


def _merge_values(parts: Iterable[tuple[str, ...]]) -> list[str]:
    return sorted({text for part in parts for text in part})


def find_authorizer_problem(function: str, authorizer: object) -> Problem | None:
    if not authorizer or authorizer == _BY_KEY:
        return None
    message = (
        f"function `{function}` has an unsupported authorizer for AWS Lambda (`cloud1-lambda`)"
    )
    hint = f"use `{_BY_KEY}`, or a custom deploy command for other authorizers"
    return Problem("config/unfit", message, hint)


def _choose_authorization(function: str, authorizer: object) -> str:
    problem = find_authorizer_problem(function, authorizer)
    if problem is not None:
        raise FabricError(problem)
    return _BY_KEY if authorizer else _NO_AUTHORIZER


def _format_cors(cors: object) -> str:
    if isinstance(cors, bool):
        return "true" if cors else ""
    if isinstance(cors, dict):
        return json.dumps(cors, sort_keys=True)
    return str(cors or "")
