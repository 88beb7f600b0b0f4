"""Requests to a stage of a REST API: allowed, validated, and answered by the code itself."""

import base64
import json
import re
import time
import uuid
from typing import Any

from jsonschema import Draft4Validator
from msgspec import Struct
from werkzeug.wrappers import Request

from tests.support.servers.strict_cloud1.accounts import Region
from tests.support.servers.strict_cloud1.constraints import Fields
from tests.support.servers.strict_cloud1.gateway_access import Answer, Asker, by_token, message
from tests.support.servers.strict_cloud1.refusals import RefusalError, not_written
from tests.support.servers.strict_cloud1.rest_apis import RestApi
from tests.support.servers.strict_cloud1.rest_documents import Document, Method
from tests.support.servers.strict_cloud1.velocity import Util, render

_AWS = "x-amazon-apigateway-"
_FIRST_OWN = 500
# The types of responses, by the status and the start of the message.
_KINDS = {
    (403, "Missing Authentication Token"): "MISSING_AUTHENTICATION_TOKEN",
    (403, "Forbidden"): "INVALID_API_KEY",
    (403, "User is not authorized to access this resource"): "ACCESS_DENIED",
    (403, "User"): "ACCESS_DENIED",
    (401, "Unauthorized"): "UNAUTHORIZED",
    (415, "Unsupported Media Type"): "UNSUPPORTED_MEDIA_TYPE",
    (400, "Could not parse request body into json"): "BAD_REQUEST_BODY",
    (429, "Too Many Requests"): "THROTTLED",
    (400, "Missing required request parameters"): "BAD_REQUEST_PARAMETERS",
    (400, "Invalid request body"): "BAD_REQUEST_BODY",
    (500, "Internal server error"): "AUTHORIZER_CONFIGURATION_ERROR",
    (502, "Internal server error"): "INTEGRATION_FAILURE",
}


class RestVisit(Struct, frozen=True, kw_only=True):
    """A request to a method of a deployment."""

    region: Region
    api: RestApi
    stage: Fields
    document: Document
    request: Request
    path: str
    method: Method
    variables: dict[str, str]

    @property
    def label(self) -> str:
        return f"{self.api.shown['id']}:{self.stage['stageName']}"

    @property
    def arn(self) -> str:
        """That of the method, as authorizers and permissions name it."""
        verb = "*" if self.method.verb == "ANY" else self.method.verb
        path = re.sub(r"\{[^}]*\}", "*", self.method.path)
        return f"{_base(self)}/{self.stage['stageName']}/{verb}{path}"


def _base(visit: RestVisit) -> str:
    number = visit.region.account.number
    return f"arn:aws:execute-api:{visit.region.name}:{number}:{visit.api.shown['id']}"


def rest_answered(
    found: tuple[Region, RestApi], request: Request, place: tuple[str, str], asker: Asker
) -> Answer:
    """`place` is the name of the stage, and the path below it."""
    (region, api), (name, path) = found, place
    staged = api.staged(name)
    if staged is None:
        return message(403, "Forbidden")
    stage, deployment = staged
    hit = deployment.document.hit(request.method, path)
    if hit is None:
        return _own(deployment.document, 403, "Missing Authentication Token")
    visit = RestVisit(
        region=region,
        api=api,
        stage=stage,
        document=deployment.document,
        request=request,
        path=path,
        method=hit[0],
        variables=hit[1],
    )
    return _refusal(visit, asker) or _integrated(visit, asker)


def _own(document: Document, status: int, words: str) -> Answer:
    """An answer of the API itself, with the headers that its document gives to errors."""
    rows = document.part("gateway-responses")
    kind = _KINDS.get((status, words.partition(":")[0]), "")
    row = rows.get(kind) or rows.get("DEFAULT_5XX" if status >= _FIRST_OWN else "DEFAULT_4XX", {})
    headers = [
        (name.removeprefix("gatewayresponse.header.").lower(), _literal(text))
        for name, text in row.get("responseParameters", {}).items()
    ]
    made = message(status, words)
    templates = row.get("responseTemplates", {}).values()
    body = next((_filled(one, words) for one in templates), made.body)
    return Answer(int(row.get("statusCode", status)), (*made.headers, *headers), body)


def _literal(text: str) -> str:
    if not text.startswith("'"):
        raise not_written(f"the value {text} of a header")
    return text.strip("'")


def _filled(template: str, words: str) -> bytes:
    text = template.replace("$context.error.messageString", json.dumps(words))
    text = text.replace("$context.error.message", words)
    if "$" in text or "#" in text:
        raise not_written(f"the template {template}")
    return text.encode()


def _refusal(visit: RestVisit, asker: Asker) -> Answer | None:
    refused = _denied(visit) or _unkeyed(visit) or _limited(visit)
    if refused:
        return _own(visit.document, *refused)
    wrong = _invalid(visit)
    return _own(visit.document, 400, wrong) if wrong else None


def _denied(visit: RestVisit) -> tuple[int, str] | None:
    """Only what denies everybody everything is evaluated here."""
    for row in visit.document.part("policy").get("Statement", ()):
        if row["Effect"] == "Deny" and row["Principal"] == "*" and "Condition" not in row:
            return 403, "User: anonymous is not authorized to perform: execute-api:Invoke"
    return None


def _needed(visit: RestVisit) -> Fields:
    rows = visit.method.operation.get("security") or [{}]
    return dict(rows[0])


def _unkeyed(visit: RestVisit) -> tuple[int, str] | None:
    """With keys of authorizers, the key is checked after the authorizer."""
    is_header = visit.api.shown.get("apiKeySource", "HEADER") == "HEADER"
    return _refused_key(visit, visit.request.headers.get("x-api-key", "")) if is_header else None


def _refused_key(visit: RestVisit, value: str) -> tuple[int, str] | None:
    if not any(_is_key(visit.document.schemes[name]) for name in _needed(visit)):
        return None
    plan = visit.region.rest_plans.plan_of(value, visit.label)
    if plan is None:
        return 403, "Forbidden"
    # Only limits of nothing are kept here: they need no clock.
    if plan.get("throttle", {}).get("burstLimit") == 0:
        return 429, "Too Many Requests"
    return None


def _is_key(scheme: Fields) -> bool:
    return scheme["name"] == "x-api-key" and f"{_AWS}authtype" not in scheme


def _limited(visit: RestVisit) -> tuple[int, str] | None:
    path = visit.method.path.removeprefix("/").replace("/", "~1")
    settings = visit.stage["methodSettings"]
    row = settings.get(f"{path}/{visit.method.verb}") or settings.get("*/*") or {}
    return (429, "Too Many Requests") if row.get("throttlingBurstLimit") == 0 else None


def _invalid(visit: RestVisit) -> str:
    operation = visit.method.operation
    name = operation.get(f"{_AWS}request-validator", "")
    checks = visit.document.part("request-validators").get(name, {})
    if checks.get("validateRequestParameters"):
        lost = [row["name"] for row in operation.get("parameters", ()) if _is_lost(visit, row)]
        if lost:
            return f"Missing required request parameters: [{', '.join(lost)}]"
    content = operation.get("requestBody", {}).get("content", {})
    media = content.get(visit.request.headers.get("Content-Type", "application/json"))
    if checks.get("validateRequestBody") and media:
        model = visit.document.models[media["schema"]["$ref"].rpartition("/")[2]]
        try:
            is_valid = Draft4Validator(model).is_valid(json.loads(visit.request.get_data()))
        except ValueError:
            is_valid = False
        return "" if is_valid else "Invalid request body"
    return ""


def _is_lost(visit: RestVisit, row: Fields) -> bool:
    if row["in"] == "query":
        return not visit.request.args.get(row["name"])
    return row["in"] == "header" and not visit.request.headers.get(row["name"])


def _integrated(visit: RestVisit, asker: Asker) -> Answer:
    integration = visit.method.integration
    if integration["type"] == "mock":
        (row,) = integration["responses"].values()
        headers = [
            (name.removeprefix("method.response.header.").lower(), text.strip("'"))
            for name, text in row["responseParameters"].items()
        ]
        chosen: dict[str, str] = {}
        context = {"responseOverride": {"header": chosen}}
        scope = {"input": _Input("", {"header": visit.request.headers}), "context": context}
        texts = [render(one, scope) for one in row.get("responseTemplates", {}).values()]
        merged = {**dict(headers), **{name.lower(): text for name, text in chosen.items()}}
        return Answer(int(row["statusCode"]), tuple(merged.items()), "".join(texts).encode())
    access = _authorized(visit, asker)
    if isinstance(access, Answer):
        return access
    event = _event(visit)
    if access:
        event["requestContext"]["authorizer"] = access
    service = "apigateway.amazonaws.com"
    is_mapped = integration["type"] == "aws"
    asked = _mapped(visit, event) if is_mapped else event
    if isinstance(asked, Answer):
        return asked
    try:
        called = asker.call(visit.region, visit.method.function(), service, visit.arn, asked)
    except RefusalError as refusal:
        status = 429 if refusal.status == 429 else 500
        return _own(visit.document, status, "Internal server error")
    if is_mapped:
        return _unmapped(integration, called.result, called.error)
    made = None if called.error else _shaped(called.result)
    return made or _own(visit.document, 502, "Internal server error")


class _Input:
    """`$input` of a template."""

    def __init__(self, body: str, params: Fields) -> None:
        self._body = body
        self._params = params

    def json(self, path: str) -> str:
        if path != "$":
            raise not_written(f"the path {path}")
        return self._body or "{}"

    def path(self, path: str) -> str:
        if path != "$":
            raise not_written(f"the path {path}")
        return self._body

    def params(self, name: str = "") -> Any:
        if not name:
            return self._params
        places = (self._params.get(one, {}) for one in ("path", "querystring", "header"))
        return next((place[name] for place in places if name in place), "")


def _mapped(visit: RestVisit, event: Fields) -> Any:
    """What the template of the media type makes of a request."""
    kind = visit.request.headers.get("Content-Type", "application/json").partition(";")[0]
    template = visit.method.integration["requestTemplates"].get(kind)
    if template is None:
        return _own(visit.document, 415, "Unsupported Media Type")
    context = event["requestContext"]
    params = {
        "header": event["headers"] or {},
        "querystring": event["queryStringParameters"] or {},
        "path": event["pathParameters"] or {},
    }
    scope = {
        "input": _Input(event["body"] or "", params),
        "util": Util,
        "context": {**context, "authorizer": context.get("authorizer") or {}},
        "stageVariables": {},
    }
    text = render(template, scope)
    try:
        return json.loads(text)
    except ValueError as error:
        return _own(visit.document, 400, f"Could not parse request body into json: {error}")


def _unmapped(integration: Fields, result: Any, error: str) -> Answer:
    """The response whose pattern matches the message of an error, or the default one."""
    rows = integration["responses"]
    said = str(result.get("errorMessage", "")) if error else ""
    found = (
        row for pattern, row in rows.items() if pattern != "default" and re.fullmatch(pattern, said)
    )
    row = next(found, rows["default"])
    headers = [
        (name.removeprefix("method.response.header.").lower(), _literal(text))
        for name, text in row.get("responseParameters", {}).items()
    ]
    kind = ("content-type", "application/json")
    return Answer(int(row["statusCode"]), (kind, *headers), json.dumps(result).encode())


def _authorized(visit: RestVisit, asker: Asker) -> Answer | Fields:
    for name, scopes in _needed(visit).items():
        scheme = visit.document.schemes[name]
        match scheme.get(f"{_AWS}authtype"):
            case "awsSigv4":
                said = visit.request.headers.get("Authorization", "")
                if not said.startswith("AWS4-HMAC-SHA256 "):
                    return _own(visit.document, 403, "Missing Authentication Token")
            case "cognito_user_pools":
                return _by_pool(visit, asker, scheme, scopes)
            case "custom":
                return _by_function(visit, asker, name, scheme)
    return {}


def _by_pool(visit: RestVisit, asker: Asker, scheme: Fields, scopes: list[str]) -> Answer | Fields:
    text = visit.request.headers.get(scheme["name"], "")
    for pool in scheme[f"{_AWS}authorizer"]["providerARNs"]:
        region, ident = pool.split(":")[3], pool.rpartition("/")[2]
        issuer = f"https://cognito-idp.{region}.amazonaws.com/{ident}"
        found = by_token(asker, {"Issuer": issuer, "Audience": None}, text, scopes)
        if isinstance(found, Answer):
            return _own(visit.document, 401, "Unauthorized")
        return {"claims": found["authorizer"]["jwt"]["claims"]}
    return _own(visit.document, 401, "Unauthorized")


def _by_function(visit: RestVisit, asker: Asker, name: str, scheme: Fields) -> Answer | Fields:
    """An answer that is kept is not asked for again, until another deployment."""
    settings = scheme[f"{_AWS}authorizer"]
    sources = [one for one in settings.get("identitySource", "").split(", ") if one]
    values = [_identity(visit.request, one) for one in sources]
    pattern = settings.get("identityValidationExpression", "")
    if not all(values) or (pattern and not re.fullmatch(pattern, values[0])):
        return _own(visit.document, 401, "Unauthorized")
    ttl, answers = settings["authorizerResultTtlInSeconds"], visit.document.answers
    key = (name, *values)
    if not (ttl and key in answers):
        answers[key] = _policy(visit, asker, settings, values)
    said = answers[key]
    rows = (said.get("policyDocument") or {}).get("Statement") or []
    if not rows or "principalId" not in said:
        return _own(visit.document, 500, "Internal server error")
    if any(row["Effect"] != "Allow" for row in rows):
        return _own(visit.document, 403, "User is not authorized to access this resource")
    is_keyed = visit.api.shown.get("apiKeySource") == "AUTHORIZER"
    refused = _refused_key(visit, said.get("usageIdentifierKey", "")) if is_keyed else None
    if refused:
        return _own(visit.document, *refused)
    return {"principalId": said["principalId"], **(said.get("context") or {})}


def _policy(visit: RestVisit, asker: Asker, settings: Fields, values: list[str]) -> Fields:
    if settings["type"] == "token":
        asked: Fields = {"type": "TOKEN", "authorizationToken": values[0], "methodArn": visit.arn}
    else:
        asked = {**_event(visit), "type": "REQUEST", "methodArn": visit.arn}
        asked.pop("body")
    arn = settings["authorizerUri"].partition("/functions/")[2].removesuffix("/invocations")
    source = f"{_base(visit)}/authorizers/{uuid.uuid4().hex[:6]}"
    try:
        called = asker.call(visit.region, arn, "apigateway.amazonaws.com", source, asked)
    except RefusalError:
        return {}
    return called.result if isinstance(called.result, dict) and not called.error else {}


def _identity(request: Request, source: str) -> str:
    place, _, name = source.removeprefix("method.request.").partition(".")
    found = request.headers if place == "header" else request.args
    return found.get(name, "")


def _event(visit: RestVisit) -> Fields:
    """As REST APIs send it; it has no version."""
    request, stage = visit.request, visit.stage["stageName"]
    headers = dict(request.headers.items())
    args = {name: request.args.getlist(name) for name in request.args}
    body = request.get_data()
    is_binary = request.headers.get("Content-Type", "") in visit.document.binary_types
    return {
        "resource": visit.method.path,
        "path": visit.path,
        "httpMethod": request.method,
        "headers": headers or None,
        "multiValueHeaders": {name: [text] for name, text in headers.items()} or None,
        "queryStringParameters": {name: rows[-1] for name, rows in args.items()} or None,
        "multiValueQueryStringParameters": args or None,
        "pathParameters": visit.variables or None,
        "stageVariables": None,
        "requestContext": {
            "accountId": visit.region.account.number,
            "apiId": visit.api.shown["id"],
            "domainName": request.host,
            "domainPrefix": visit.api.shown["id"],
            "extendedRequestId": uuid.uuid4().hex,
            "httpMethod": request.method,
            "identity": {
                "sourceIp": request.remote_addr or "",
                "userAgent": request.headers.get("User-Agent"),
            },
            "path": f"/{stage}{visit.path}",
            "protocol": "HTTP/1.1",
            "requestId": uuid.uuid4().hex,
            "requestTimeEpoch": time.time_ns() // 1_000_000,
            "resourceId": "abc123",
            "resourcePath": visit.method.path,
            "stage": stage,
        },
        "body": (base64.b64encode(body) if is_binary else body).decode(errors="replace") or None,
        "isBase64Encoded": is_binary,
    }


def _shaped(result: Any) -> Answer | None:
    """What a function returns: a status and a text. Anything else is a fault of it."""
    if not isinstance(result, dict) or not isinstance(result.get("statusCode"), int | str):
        return None
    known = {"statusCode", "headers", "multiValueHeaders", "body", "isBase64Encoded"}
    body = result.get("body") or ""
    if result.keys() - known or not isinstance(body, str):
        return None
    content = base64.b64decode(body) if result.get("isBase64Encoded") else body.encode()
    headers = {name.lower(): str(one) for name, one in (result.get("headers") or {}).items()}
    lists = (result.get("multiValueHeaders") or {}).items()
    more = [(name.lower(), str(one)) for name, rows in lists for one in rows]
    shown = {"content-type": "application/json", **headers}
    return Answer(int(result["statusCode"]), (*shown.items(), *more), content)
