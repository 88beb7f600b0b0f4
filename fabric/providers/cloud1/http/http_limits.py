"""Problems of the settings of the HTTP API, found without an API call."""

from collections.abc import Iterator, Mapping, Sequence

from fabric.model.late_values import find_late_names
from fabric.model.problems import Problem
from fabric.model.text.spelling import suggest_spelling
from fabric.providers.cloud1.core.http_settings import (
    BY_KEY,
    AccessLogs,
    Authorizer,
    CognitoAuthorizer,
    HttpSettings,
    JwtAuthorizer,
    LambdaAuthorizer,
    list_identity_sources,
    read_authorizer_name,
)
from fabric.providers.core.contract import Unsupported
from fabric.providers.core.limits import function_problem, unsupported_setting

RETENTION_DAYS = (
    *(1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557),
    *(2922, 3288, 3653),
)
HTTP_KEYS = ("extensions", "cloud1-lambda", "http")
AUTHORIZER_KEYS = (*HTTP_KEYS, "authorizers")
_CERTIFICATE = "arn:"


# Also a reference that was not read.
_SOURCES = ("$request.", "$context.", "$stageVariables.", "${")


def find_http_problems(
    settings: HttpSettings, functions: Sequence[str], region: str
) -> Iterator[Unsupported]:
    """Find problems of the settings themselves. `functions` are the names of all functions."""
    if not is_default_known(settings):
        name = settings.default_authorizer
        hint = suggest_spelling(name, (*settings.authorizers, BY_KEY))
        why = f"the unknown authorizer `{name}`"
        yield unsupported_setting(HTTP_KEYS, "defaultAuthorizer", why, hint)
    for name, one in settings.authorizers.items():
        yield from _find_definition_problems(name, one, functions)
        if not settings.is_rest:
            yield from _find_source_problems(name, one)
    logs = settings.access_logs
    days = logs.retention_days if isinstance(logs, AccessLogs) else 0
    if days and days not in RETENTION_DAYS:
        near = min(RETENTION_DAYS, key=lambda one: abs(one - days))
        why = f"{days} days, which AWS does not support"
        yield unsupported_setting((*HTTP_KEYS, "accessLogs"), "retentionDays", why, f"use {near}")
    if settings.disable_default_endpoint and not settings.domain:
        why = "true, and the API has no domain"
        yield unsupported_setting(HTTP_KEYS, "disableDefaultEndpoint", why, "add `domain`")
    yield from _find_certificate_problems(settings, region)


def is_default_known(settings: HttpSettings) -> bool:
    return settings.default_authorizer in ("", "none", BY_KEY, *settings.authorizers)


def _find_definition_problems(
    name: str, authorizer: Authorizer, functions: Sequence[str]
) -> Iterator[Unsupported]:
    keys = (*AUTHORIZER_KEYS, name)
    if isinstance(authorizer, JwtAuthorizer):
        issuer = authorizer.issuer
        if not issuer.startswith("https://") and not find_late_names(issuer):
            why = f"`{issuer}`, which is not an HTTPS address"
            yield unsupported_setting(keys, "issuer", why, "use the `iss` value of the tokens")
    elif isinstance(authorizer, LambdaAuthorizer):
        function = authorizer.function
        if function and function not in functions:
            hint = suggest_spelling(function, functions)
            why = f"`{function}`, which is not a function of this service"
            yield unsupported_setting(keys, "function", why, hint or "use `arn` for others")


def _find_source_problems(name: str, authorizer: Authorizer) -> Iterator[Unsupported]:
    """Find places of credentials that an HTTP API cannot read."""
    for source in list_identity_sources(authorizer):
        if not source.startswith(_SOURCES) and not find_late_names(source):
            why = f"`{source}`, which does not begin with `$request.`"
            hint = "use a place such as `$request.header.Authorization`"
            yield unsupported_setting((*AUTHORIZER_KEYS, name), "identitySource", why, hint)


def _find_certificate_problems(settings: HttpSettings, region: str) -> Iterator[Unsupported]:
    arn = settings.domain.certificate if settings.domain else ""
    if not arn.startswith(_CERTIFICATE):
        return  # known later
    parts = arn.split(":")
    if parts[2] != "acm" or len(parts) < len(("arn", "aws", "acm", "region", "account", "id")):
        why = f"`{arn}`, which is not the ARN of a certificate"
        yield unsupported_setting((*HTTP_KEYS, "domain"), "certificate", why)
    elif region and parts[3] != region:
        why = f"in {parts[3]}, and the API is in {region}"
        hint = "use a certificate in the region of the API"
        yield unsupported_setting((*HTTP_KEYS, "domain"), "certificate", why, hint)


def find_trigger_problems(
    settings: HttpSettings,
    known: Mapping[str, Authorizer],
    function: str,
    trigger: Mapping[str, object],
) -> Iterator[Problem]:
    """Find problems of the authorizer of an HTTP trigger."""
    if isinstance(trigger.get("authorizer"), dict) or str(trigger.get("authorizer"))[:1] == "{":
        why = "has an unsupported authorizer for AWS Lambda (`cloud1-lambda`)"
        hint = f"define it in `{'.'.join(AUTHORIZER_KEYS)}`, and set `authorizer` to its name"
        yield function_problem(function, why, hint)
        return
    name = read_authorizer_name(settings, trigger)
    if name not in ("", BY_KEY, *known):
        yield unknown_authorizer_problem(function, name, known)
    elif trigger.get("scopes") and not isinstance(
        known.get(name), CognitoAuthorizer if settings.is_rest else JwtAuthorizer
    ):
        title, kind = ("Cognito", "cognito") if settings.is_rest else ("JWT", "jwt")
        why = f"has `scopes`, which only a {title} authorizer checks"
        yield function_problem(function, why, f"set `authorizer` to one of the type `{kind}`")


def unknown_authorizer_problem(
    function: str, name: str, authorizers: Mapping[str, Authorizer]
) -> Problem:
    why = f"has the unknown authorizer `{name}`"
    hint = suggest_spelling(name, (*authorizers, BY_KEY, "none"))
    return function_problem(function, why, hint or f"define it in `{'.'.join(AUTHORIZER_KEYS)}`")
