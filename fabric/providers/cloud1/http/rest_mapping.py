"""Integrations of a REST API without a proxy: templates build the event, and the result of the
function is the body. No effects."""

from collections.abc import Mapping
from typing import Any, TypeAlias

from fabric.model.calls.mapped_events import ERROR_STATUSES, FORM, JSON

Json: TypeAlias = dict[str, Any]
_TEXT = """.replaceAll("\\\\'", "'")"""
_MAPS = {
    "enhancedAuthContext": "$context.authorizer",
    "headers": "$input.params().header",
    "query": "$input.params().querystring",
    "path": "$input.params().path",
    "identity": "$context.identity",
    "stageVariables": "$stageVariables",
}
# `escapeJavaScript` also escapes single quotes, which JSON does not permit.
_EVENT = "\n".join(
    (
        "#define($loop)",
        "{#foreach($key in $map.keySet())",
        "#set($k = $util.escapeJavaScript($key))",
        f"#set($v = $util.escapeJavaScript($map.get($key)){_TEXT})",
        '"$k": "$v"#if($foreach.hasNext),#end',
        "#end}",
        "#end",
        "{",
        '"body": $body,',
        '"method": "$context.httpMethod",',
        '"principalId": "$context.authorizer.principalId",',
        '"stage": "$context.stage",',
        '"cognitoPoolClaims": {"sub": "$context.authorizer.claims.sub"},',
        *(f'#set($map = {value})\n"{name}": $loop,' for name, value in _MAPS.items()),
        '"requestPath": "$context.resourcePath"',
        "}",
    )
)
_FORM_BODY = "\n".join(
    (
        "#define($body)",
        "{#foreach($token in $input.path('$').split('&'))",
        "#set($pair = $token.split('='))",
        "#set($size = $pair.size())",
        "#if($size >= 1)",
        f"#set($key = $util.escapeJavaScript($util.urlDecode($pair[0])){_TEXT})",
        "#if($size >= 2)",
        f"#set($val = $util.escapeJavaScript($util.urlDecode($pair[1])){_TEXT})",
        "#else",
        "#set($val = '')",
        "#end",
        '"$key": "$val"#if($foreach.hasNext),#end',
        "#end",
        "#end}",
        "#end",
    )
)
_TEMPLATES = {JSON: f'#set($body = $input.json("$"))\n{_EVENT}', FORM: f"{_FORM_BODY}\n{_EVENT}"}


def build_mapping(origin: Mapping[str, str]) -> Json:
    """Build the parts of an integration. `origin` are the CORS headers of each response."""
    parameters = {f"method.response.header.{name}": f"'{value}'" for name, value in origin.items()}
    more: Json = {"responseParameters": parameters} if parameters else {}
    errors = {
        pattern: {"statusCode": str(status), **more} for pattern, status in ERROR_STATUSES.items()
    }
    return {
        "type": "aws",
        "passthroughBehavior": "never",
        "requestTemplates": _TEMPLATES,
        "responses": {"default": {"statusCode": "200", **more}, **errors},
    }


def build_mapped_responses(origin: Mapping[str, str]) -> Json:
    """Build the responses of a method, by status."""
    shown = {name: {"schema": {"type": "string"}} for name in origin}
    headers: Json = {"headers": shown} if shown else {}
    return {
        str(status): {"description": "The result of the function", **headers}
        for status in (200, *ERROR_STATUSES.values())
    }
