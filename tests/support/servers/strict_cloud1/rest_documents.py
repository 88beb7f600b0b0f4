"""The OpenAPI document of a REST API as an import reads it: what is refused, and what is kept."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

import botocore.session
from jsonschema import Draft4Validator
from jsonschema.exceptions import SchemaError

from tests.support.servers.strict_cloud1.constraints import Fields
from tests.support.servers.strict_cloud1.refusals import bad, not_written

_AWS = "x-amazon-apigateway-"
_PART = re.compile(r"[A-Za-z0-9._:~$-]+|\{[A-Za-z0-9._:-]+\+?\}")
_URI = re.compile(
    r"arn:aws:apigateway:[a-z0-9-]+:lambda:path/"
    r"(2015-03-31/functions/[^/]+/invocations"
    r"|2021-11-15/functions/[^/]+/response-streaming-invocations)"
)
_VALUE = re.compile(
    r"'[^']*'|method\.request\.(?:header|querystring|path)\.\S+|context\.[A-Za-z.]+"
)
_METHODS = frozenset({"get", "head", "post", "put", "patch", "delete", "options"})
_TOP = frozenset(
    {"openapi", "info", "paths", "components", "servers"}
    | {
        f"{_AWS}{name}"
        for name in (
            "request-validators",
            "gateway-responses",
            "binary-media-types",
            "minimum-compression-size",
            "api-key-source",
            "policy",
        )
    }
)
_OPERATION = frozenset(
    {"parameters", "requestBody", "responses", "security"}
    | {f"{_AWS}{name}" for name in ("integration", "auth", "request-validator")}
)
_INTEGRATION = frozenset(
    "type httpMethod uri passthroughBehavior timeoutInMillis responseTransferMode requestTemplates"
    " contentHandling responses".split()
)
_LONGEST = {"BUFFERED": 300_000, "STREAM": 900_000}
_MOST_RESOURCES = 300


class Method(NamedTuple):
    path: str
    verb: str
    operation: Fields

    @property
    def integration(self) -> Fields:
        found: Fields = self.operation[f"{_AWS}integration"]
        return found

    def function(self) -> str:
        return str(self.integration["uri"]).partition("/functions/")[2].rpartition("/")[0]


@dataclass
class Document:
    """What a deployment freezes. Answers of authorizers are kept with it."""

    said: Fields
    answers: dict[tuple[str, ...], Fields] = field(default_factory=dict)

    @classmethod
    def parse(cls, body: bytes, endpoint: str) -> "Document":
        try:
            said = json.loads(body)
        except ValueError:
            raise bad("Unable to parse API definition because of a malformed body") from None
        if not str(said.get("openapi", "")).startswith("3.0"):
            raise bad("Unable to parse API definition because of unsupported version")
        _heed(said, _TOP)
        made = cls(said)
        _check_paths(said["paths"])
        for one in made.methods():
            _check_operation(made, one, endpoint)
        for name, model in made.models.items():
            _check_model(name, model)
        for kind, row in made.part("gateway-responses").items():
            _check_response(kind, row)
        return made

    @property
    def schemes(self) -> Fields:
        return dict(self.said.get("components", {}).get("securitySchemes", {}))

    @property
    def models(self) -> Fields:
        return dict(self.said.get("components", {}).get("schemas", {}))

    def part(self, name: str) -> Fields:
        return dict(self.said.get(f"{_AWS}{name}") or {})

    @property
    def binary_types(self) -> list[str]:
        return list(self.said.get(f"{_AWS}binary-media-types") or ())

    @property
    def endpoint(self) -> Fields:
        servers = self.said.get("servers") or [{}]
        return dict(servers[0].get(f"{_AWS}endpoint-configuration") or {})

    def methods(self) -> Iterator[Method]:
        for path, operations in self.said["paths"].items():
            for verb, operation in operations.items():
                if verb not in _METHODS | {f"{_AWS}any-method"}:
                    raise not_written(f"{verb} of a path")
                yield Method(path, "ANY" if verb.startswith("x-") else verb.upper(), operation)

    def hit(self, verb: str, path: str) -> tuple[Method, dict[str, str]] | None:
        """The resource whose path is the most specific, and there the method itself or ANY."""
        found = [
            (_rank(one), one, variables)
            for one in self.methods()
            if one.verb in {verb, "ANY"} and (variables := _variables(one.path, path)) is not None
        ]
        return max(found, key=lambda row: row[0])[1:] if found else None


def _heed(said: Fields, known: frozenset[str]) -> None:
    ignored = sorted(said.keys() - known)
    if ignored:
        raise not_written(f"{ignored} of a document")


def _check_paths(paths: Fields) -> None:
    variables: dict[str, str] = {}
    resources = {""}
    for path in paths:
        parts = path.removeprefix("/").split("/") if path != "/" else []
        if not path.startswith("/") or not all(_PART.fullmatch(part) for part in parts):
            raise bad(f"Invalid Resource specified: the path part of {path}")
        if any(part.endswith("+}") for part in parts[:-1]):
            raise bad(f"Cannot create a child of a resource with a greedy path variable: {path}")
        for depth, part in enumerate(parts):
            parent = "/".join(parts[:depth])
            resources.add("/".join(parts[: depth + 1]))
            if part.startswith("{") and variables.setdefault(parent, part) != part:
                raise bad(
                    f"A sibling ({variables[parent]}) of this resource already has a variable path"
                    " part -- only one is allowed"
                )
    if len(resources) > _MOST_RESOURCES:
        raise bad("Maximum number of resources for this API has been reached")


def _check_operation(document: Document, one: Method, endpoint: str) -> None:
    _heed(one.operation, _OPERATION)
    for needed in one.operation.get("security", ()):
        for name in needed:
            if name not in document.schemes:
                raise bad(f"Unable to find the security definition {name} of {one.verb} {one.path}")
    validator = one.operation.get(f"{_AWS}request-validator")
    if validator and validator not in document.part("request-validators"):
        raise bad(f"Invalid request validator specified: {validator}")
    for media in one.operation.get("requestBody", {}).get("content", {}).values():
        if media["schema"]["$ref"].rpartition("/")[2] not in document.models:
            raise bad(f"Invalid model identifier specified: {media['schema']['$ref']}")
    declared = {row["name"] for row in one.operation.get("parameters", ()) if row["in"] == "path"}
    named = {part.strip("{}+") for part in one.path.split("/") if part.startswith("{")}
    if declared != named:
        raise bad(f"The path parameters of {one.path} are {sorted(named)}")
    _check_integration(one, endpoint)


def _check_integration(one: Method, endpoint: str) -> None:
    if f"{_AWS}integration" not in one.operation:
        return
    row = one.integration
    _heed(row, _INTEGRATION)
    if row["type"] == "mock":
        return
    if row["type"] == "aws":
        _check_responses(one)
    _check_call(row, endpoint)


def _check_call(row: Fields, endpoint: str) -> None:
    if row["type"] not in {"aws", "aws_proxy"}:
        raise not_written(f"integrations of the type {row['type']}")
    if not _URI.fullmatch(row.get("uri", "")):
        raise bad("AWS ARN for integration contains invalid path")
    if row.get("httpMethod") != "POST":
        raise bad("Enumeration value for HttpMethod must be non-empty")
    mode = row.get("responseTransferMode", "BUFFERED")
    if (mode == "STREAM") != ("response-streaming" in row["uri"]):
        raise bad("The URI of a streamed integration is that of response-streaming-invocations")
    # An account whose quota was raised, which edge APIs have not.
    longest = 29_000 if endpoint == "EDGE" and mode == "BUFFERED" else _LONGEST[mode]
    if not 50 <= row.get("timeoutInMillis", 29_000) <= longest:
        raise bad(f"Timeout should be between 50 ms and {longest} ms")


def _check_responses(one: Method) -> None:
    """Each response of the integration is one of the method, with its headers."""
    row, known = one.integration, one.operation["responses"]
    if row.get("passthroughBehavior") not in {"never", "when_no_match", "when_no_templates"}:
        raise bad("Invalid passthrough behavior specified")
    for pattern, said in row["responses"].items():
        re.compile(pattern)
        method = known.get(said["statusCode"])
        if method is None:
            raise bad(f"Invalid mapping: no method response {said['statusCode']}")
        for name in said.get("responseParameters", {}):
            if name.removeprefix("method.response.header.") not in method.get("headers", {}):
                raise bad(f"Invalid mapping expression parameter specified: {name}")


def _check_response(kind: str, row: Fields) -> None:
    if kind not in load_enum("GatewayResponseType"):
        raise bad(f"Invalid response type specified: {kind}")
    _heed(row, frozenset({"statusCode", "responseParameters", "responseTemplates"}))
    if not re.fullmatch(r"[1-5]\d\d", row.get("statusCode", "400")):
        raise bad(f"Invalid status code specified: {row['statusCode']}")
    for name, value in row.get("responseParameters", {}).items():
        if not re.fullmatch(r"gatewayresponse\.header\.[A-Za-z0-9_-]+", name):
            raise bad(f"Invalid mapping expression parameter specified: {name}")
        if not _VALUE.fullmatch(value):
            raise bad(f"Invalid mapping expression specified: {value}")


@cache
def load_enum(name: str) -> frozenset[str]:
    model = botocore.session.get_session().get_service_model("apigateway")
    return frozenset(model.shape_for(name).enum)


def _check_model(name: str, model: Fields) -> None:
    if not name.isalnum():
        raise bad(f"Model name must be alphanumeric: {name}")
    try:
        Draft4Validator.check_schema(model)
    except SchemaError as error:
        raise bad(f"Invalid model specified: {error.message}") from None


def _variables(template: str, path: str) -> dict[str, str] | None:
    pattern = "".join(
        f"/{_pattern(part)}" for part in template.split("/")[1:] if part or template == "/"
    )
    found = re.fullmatch(pattern, path.rstrip("/") or "/")
    names = [part.strip("{}+") for part in template.split("/") if part.startswith("{")]
    return dict(zip(names, found.groups(), strict=True)) if found else None


def _pattern(part: str) -> str:
    if not part.startswith("{"):
        return re.escape(part)
    return "(.+)" if part.endswith("+}") else "([^/]+)"


def _rank(one: Method) -> tuple[list[int], bool]:
    """Part by part: text, then a variable, then a greedy one."""
    parts = one.path.split("/")[1:]
    kinds = [1 if part.endswith("+}") else 2 if part.startswith("{") else 3 for part in parts]
    return kinds, one.verb != "ANY"
