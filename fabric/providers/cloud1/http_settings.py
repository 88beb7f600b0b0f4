"""The settings `extensions.cloud1-lambda.http`, and what they mean for the HTTP API. No effects."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from msgspec import Struct, convert, to_builtins

from fabric.providers.cloud1.client import Quoted
from fabric.providers.core.contract import DeploymentAddress

BY_KEY = "AWS_IAM"
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
    simple: bool = True


Authorizer: TypeAlias = JwtAuthorizer | RequestAuthorizer


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


class HttpSettings(Struct, frozen=True, kw_only=True, rename="camel"):
    """All settings of the HTTP API. The release reads them, and no deploy of a function."""

    authorizers: dict[str, Authorizer] = {}
    default_authorizer: str = ""
    throttle: Throttle | None = None
    access_logs: AccessLogs | bool = False
    payload: str = "2.0"
    # Seconds; 0 is the default of AWS.
    timeout: float = 0
    disable_default_endpoint: bool = False
    domain: Domain | None = None


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
    kind = "jwt" if isinstance(authorizer, JwtAuthorizer) else "request"
    return f"{_NAME_START}{kind}-{name}"


def is_own_authorizer(name: str) -> bool:
    return name.startswith(_NAME_START)


def build_authorizer_fields(authorizer: Authorizer, function_arn: str) -> dict[str, Any]:
    """Build the fields of the API calls."""
    sources = list_identity_sources(authorizer)
    if isinstance(authorizer, JwtAuthorizer):
        tokens = {"Issuer": authorizer.issuer, "Audience": list(authorizer.audience)}
        return {"AuthorizerType": "JWT", "IdentitySource": sources, "JwtConfiguration": tokens}
    _, partition, _, region, *_ = function_arn.split(":")
    path = f"lambda:path/2015-03-31/functions/{function_arn}/invocations"
    return {
        "AuthorizerType": "REQUEST",
        "AuthorizerUri": f"arn:{partition}:apigateway:{region}:{path}",
        "AuthorizerPayloadFormatVersion": "2.0",
        "EnableSimpleResponses": authorizer.simple,
        "AuthorizerResultTtlInSeconds": authorizer.ttl,
        "IdentitySource": sources,
    }


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
