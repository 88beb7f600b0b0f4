"""The settings `extensions.cloud1-lambda.http`, and what they mean for APIs. No effects."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from msgspec import Struct, convert, to_builtins

from fabric.providers.cloud1.core.client import Quoted
from fabric.providers.core.contract import DeploymentAddress

BY_KEY = "AWS_IAM"
REST = "rest"
_OPEN = frozenset(("none", "NONE"))
_HEADER = "$request.header.Authorization"
_NAME_START = "fabric-"


class Throttle(Struct, frozen=True):
    # Requests per second, and at the same time.
    rate: float
    burst: int


class JwtAuthorizer(Struct, frozen=True, tag="jwt", rename="camel"):
    issuer: str
    audience: tuple[str, ...]
    identity_source: str | tuple[str, ...] = _HEADER


class RequestAuthorizer(Struct, frozen=True, tag="request", rename="camel", omit_defaults=True):
    """`function` is in this service; `arn` is a function elsewhere."""

    function: str = ""
    arn: str = ""
    identity_source: str | tuple[str, ...] = ()
    # Seconds.
    ttl: int = 0
    # None is true for an HTTP API. Authorizers of REST APIs always return policies.
    simple: bool | None = None


class TokenAuthorizer(Struct, frozen=True, tag="token", rename="camel", omit_defaults=True):
    """As `RequestAuthorizer`, called with one header only."""

    function: str = ""
    arn: str = ""
    identity_source: str = _HEADER
    ttl: int = 0
    # A regular expression that the header must match.
    pattern: str = ""


class CognitoAuthorizer(Struct, frozen=True, tag="cognito", rename="camel"):
    user_pool_arn: str | tuple[str, ...]
    identity_source: str = _HEADER
    ttl: int = 0


LambdaAuthorizer: TypeAlias = RequestAuthorizer | TokenAuthorizer
Authorizer: TypeAlias = JwtAuthorizer | RequestAuthorizer | TokenAuthorizer | CognitoAuthorizer


class AccessLogs(Struct, frozen=True, rename="camel"):
    retention_days: int = 0
    format: str = ""
    group: str = ""


class Domain(Struct, frozen=True, kw_only=True, rename="camel"):
    name: str
    certificate: str
    base_path: str = ""
    zone: str = ""
    create_record: bool = True

    @property
    def url(self) -> str:
        return f"https://{self.name}/{self.base_path}".rstrip("/")


class Quota(Struct, frozen=True):
    limit: int
    period: str
    offset: int = 0


class UsagePlan(Struct, frozen=True):
    quota: Quota | None = None
    throttle: Throttle | None = None


class GatewayResponse(Struct, frozen=True, rename="camel"):
    """A response of a REST API itself. 0 is the status of its type."""

    status_code: int = 0
    headers: dict[str, str] = {}
    # By media type.
    templates: dict[str, str] = {}


class _CommonSettings(Struct, frozen=True, kw_only=True, rename="camel"):
    """The settings that both kinds of APIs have."""

    kind: str = "http"
    authorizers: dict[str, Authorizer] = {}
    default_authorizer: str = ""
    throttle: Throttle | None = None
    access_logs: AccessLogs | bool = False
    # Empty is the default of the kind.
    payload: str = ""
    # Seconds; 0 is the default of AWS.
    timeout: float = 0
    disable_default_endpoint: bool = False
    domain: Domain | None = None
    # Consent to another address, after a change of the kind.
    allow_replace: bool = False

    @property
    def is_rest(self) -> bool:
        return self.kind == REST


class HttpSettings(_CommonSettings, frozen=True, kw_only=True, rename="camel"):
    """All settings of the API. The release reads them, and no deploy of a function. Below are
    those of REST APIs only."""

    endpoint_type: str = ""
    vpc_endpoint_ids: tuple[str, ...] = ()
    resource_policy: tuple[dict[str, Any], ...] = ()
    api_keys: tuple[str, ...] = ()
    api_key_source: str = ""
    usage_plan: UsagePlan | None = None
    binary_media_types: tuple[str, ...] = ()
    minimum_compression_size: int | None = None
    gateway_responses: dict[str, GatewayResponse] = {}
    metrics: bool = False
    tracing: bool = False

    @property
    def event_format(self) -> str:
        """The payload version of the events of HTTP triggers."""
        return "1.0" if self.is_rest else self.payload or "2.0"


def read_http_settings(address: DeploymentAddress) -> HttpSettings:
    """Read the settings with the outputs of other services filled in."""
    return convert(json.loads(address.extension).get("http") or {}, HttpSettings)


def read_authorizer_name(settings: HttpSettings, trigger: Mapping[str, object]) -> str:
    """Return the name of the authorizer of a trigger, `AWS_IAM`, or an empty text."""
    name = str(trigger.get("authorizer") or settings.default_authorizer or "none")
    return "" if name in _OPEN else name


def encode_authorizers(authorizers: Mapping[str, Authorizer], quoted: Quoted) -> str:
    """Encode definitions for state. Definitions with secret values are omitted: `quoted` changes
    them."""
    rows = {name: to_builtins(one) for name, one in authorizers.items()}
    public = {
        name: row
        for name, row in rows.items()
        if all(quoted(text) == text for text in _list_texts(row.values()))
    }
    return json.dumps(public, sort_keys=True)


def _list_texts(values: Iterable[object]) -> Iterator[str]:
    for value in values:
        if isinstance(value, list | tuple):
            yield from _list_texts(value)
        elif isinstance(value, str):
            yield value


def decode_authorizers(text: str) -> dict[str, Authorizer]:
    return convert(json.loads(text or "{}"), dict[str, Authorizer])


def format_authorizer_name(name: str, authorizer: Authorizer) -> str:
    """Return the name at AWS. It proves that fabric created the authorizer, and its type."""
    return f"{_NAME_START}{authorizer.__struct_config__.tag}-{name}"


def is_own_authorizer(name: str) -> bool:
    return name.startswith(_NAME_START)


def build_authorizer_fields(
    authorizer: JwtAuthorizer | RequestAuthorizer, function_arn: str
) -> dict[str, Any]:
    """Build the fields of the API calls."""
    sources = list_identity_sources(authorizer)
    if isinstance(authorizer, JwtAuthorizer):
        tokens = {"Issuer": authorizer.issuer, "Audience": list(authorizer.audience)}
        return {"AuthorizerType": "JWT", "IdentitySource": sources, "JwtConfiguration": tokens}
    return {
        "AuthorizerType": "REQUEST",
        "AuthorizerUri": build_invocation_uri(function_arn),
        "AuthorizerPayloadFormatVersion": "2.0",
        "EnableSimpleResponses": authorizer.simple is not False,
        "AuthorizerResultTtlInSeconds": authorizer.ttl,
        "IdentitySource": sources,
    }


def build_invocation_uri(function_arn: str) -> str:
    """Build the ARN by which API Gateway calls a function."""
    _, partition, _, region, *_ = function_arn.split(":")
    path = f"lambda:path/2015-03-31/functions/{function_arn}/invocations"
    return f"arn:{partition}:apigateway:{region}:{path}"


def list_identity_sources(authorizer: Authorizer) -> list[str]:
    """List the places of the credentials in a request."""
    given = authorizer.identity_source
    sources = [given] if isinstance(given, str) else list(given)
    # A cache needs a key.
    has_cache = isinstance(authorizer, RequestAuthorizer) and bool(authorizer.ttl)
    return sources or ([_HEADER] if has_cache else [])


def parse_authorizer_function(uri: str) -> str:
    """Return the ARN of the function of a request authorizer."""
    return uri.partition("/functions/")[2].removesuffix("/invocations")
