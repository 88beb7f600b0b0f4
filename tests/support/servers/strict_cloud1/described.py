"""Requests and answers by the services' own descriptions, which come with botocore.

Which operation a request is, moto's router says; what it may hold, the description does: members
that are required, types, lengths, ranges, patterns, closed lists. moto itself takes almost all.
"""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from moto.core.model import OperationModel, ServiceModel
from moto.core.parse import QueryParser
from moto.core.request import Request
from moto.core.routing import get_service_router
from moto.core.serialize import QuerySerializer
from moto.core.utils import get_service_model
from werkzeug.exceptions import NotFound

from tests.support.servers.strict_cloud1.constraints import (
    Fields,
    TypeErrorInRequest,
    checked,
    from_text,
)
from tests.support.servers.strict_cloud1.refusals import RefusalError

# The name in a signature, where it is not the one of the description.
_SIGNED_AS = {
    "apigateway": "apigatewayv2",
    "apigateway-v1": "apigateway",
    "monitoring": "cloudwatch",
    "states": "stepfunctions",
}
_CODES = dict.fromkeys(("apigatewayv2", "apigateway"), "BadRequestException")


class Described:
    """One service."""

    def __init__(self, signed_as: str) -> None:
        self.name = _SIGNED_AS.get(signed_as, signed_as)
        self._service: ServiceModel = get_service_model(self.name)
        self._router = get_service_router(self.name)

    @property
    def protocol(self) -> str:
        return str(self._service.metadata["protocol"])

    def operation(self, request: Request) -> tuple[OperationModel, dict[str, Any]]:
        """Which one it is, and what its path says."""
        try:
            return self._router.match(request)
        except (NotFound, NotImplementedError):
            where = f"{request.method} {request.path}"
            raise RefusalError(404, "UnknownOperationException", where) from None

    def parameters(
        self, operation: OperationModel, labels: Mapping[str, Any], request: Request
    ) -> Fields:
        shape = operation.input_shape
        if shape is None:
            return {}
        try:
            if self.protocol == "query":
                return self._query_parameters(operation, request)
            given = _given(shape, labels, request)
            return dict(checked(shape, given, ""))
        except ValueError as error:
            code = _CODES.get(self.name, "ValidationException")
            message = f"1 validation error detected: {error}"
            raise RefusalError(400, code, message) from error

    def _query_parameters(self, operation: OperationModel, request: Request) -> Fields:
        """The values of a form. Names that the description does not know are refused."""
        asked: Any = {"values": request.values}
        parsed = dict(QueryParser(operation).parse(asked))
        known = ("Action", "Version", *operation.input_shape.members)
        unknown = [one for one in request.values if one.partition(".")[0] not in known]
        if unknown:
            raise ValueError(f"{unknown[0]} is not known")
        return dict(checked(operation.input_shape, parsed, ""))


def _given(shape: Any, labels: Mapping[str, Any], request: Request) -> Fields:
    """The raw values by the names of the members; what the body alone knows stays in it."""
    payload = shape.serialization.get("payload")
    found: Fields = {}
    for name, member in shape.members.items():
        value = _placed(member, name, labels, request)
        if value is not None:
            found[name] = value
    if payload and request.data:
        found[payload] = request.data
    if not payload and request.data:
        found |= _named(shape, json.loads(request.data))
    return found


def _placed(member: Any, name: str, labels: Mapping[str, Any], request: Request) -> Any:
    where = member.serialization.get("location")
    key = member.serialization.get("name", name)
    if where == "uri":
        label = labels.get(key)
        return from_text(member, label) if isinstance(label, str) else label
    if where == "header":
        value = request.headers.get(key)
        return None if value is None else from_text(member, value)
    if where == "querystring" and key in request.args:
        if member.type_name == "list":
            return request.args.getlist(key)
        return from_text(member, request.args[key])
    return None


def _named(shape: Any, document: Any) -> Fields:
    """A document's own names turned into the names of members: one that is unknown is refused."""
    if not isinstance(document, dict):
        raise TypeErrorInRequest(document, "the body")
    names = {
        member.serialization.get("name", name): name
        for name, member in shape.members.items()
        if "location" not in member.serialization
    }
    unknown = sorted(set(document) - set(names))
    if unknown:
        raise ValueError(f"{unknown[0]} is not known")
    return {names[key]: value for key, value in document.items() if value is not None}


def answer(operation: OperationModel, result: Fields) -> tuple[int, dict[str, str], bytes]:
    """Only what the description knows leaves the server."""
    shape = operation.output_shape
    if operation.service_model.metadata["protocol"] == "query":
        made = QuerySerializer(operation).serialize(result)
        body = made["body"]
        return 200, {"Content-Type": "text/xml"}, body.encode() if isinstance(body, str) else body
    status = int(operation.http.get("responseCode", 200))
    if shape is None:
        return status, {}, b""
    headers = {"Content-Type": "application/json"}
    payload = shape.serialization.get("payload")
    document: Fields = {}
    for name, member in shape.members.items():
        value = result.get(name)
        where, key = member.serialization.get("location"), member.serialization.get("name", name)
        if value is None or name == payload:
            continue
        if where == "statusCode":
            status = value
        elif where == "header":
            headers[key] = str(value)
        else:
            document[key] = _written(member, value)
    body = result.get(payload, b"") if payload else json.dumps(document).encode()
    return status, headers, b"" if status == 204 else body


def _written(shape: Any, value: Any) -> Any:
    match shape.type_name:
        case "structure":
            return {
                member.serialization.get("name", name): _written(member, value[name])
                for name, member in shape.members.items()
                if value.get(name) is not None
            }
        case "list":
            return [_written(shape.member, one) for one in value]
        case "map":
            return {key: _written(shape.value, one) for key, one in value.items()}
        case "timestamp":
            return _time(shape, value)
    return value


def _time(shape: Any, value: datetime) -> str | float:
    if shape.serialization.get("timestampFormat") == "iso8601":
        return value.strftime("%Y-%m-%dT%H:%M:%SZ")
    return value.timestamp()
