"""APIs of AWS SAM with an OpenAPI document, as resources of a stack.

The routes of such an API are those of its document, so it stays a resource of CloudFormation.
"""

from fabric.config.yaml.nodes import KeyValue, Mapping, Node, Scalar, Sequence, find_child
from fabric.config.yaml.reader import read
from fabric.importing.context import Context
from fabric.importing.intrinsics import get_function
from fabric.importing.rules import is_true
from fabric.importing.sam.resources import build_resource
from fabric.importing.source import At, list_leaves
from fabric.model.outcomes.json_struct import Json
from fabric.model.problems import FabricError
from fabric.scaffold.yaml_text import build_tree

REST, HTTP = "AWS::Serverless::Api", "AWS::Serverless::HttpApi"
_COPIED = frozenset(
    (
        *("Name", "Description", "BinaryMediaTypes", "MinimumCompressionSize", "ApiKeySourceType"),
        *("DisableExecuteApiEndpoint", "Mode", "FailOnWarnings"),
    )
)


def find_documents(source: At) -> frozenset[str]:
    """Find the APIs that have an OpenAPI document."""
    return frozenset(
        one.key
        for one in source.get("Resources").list_entries()
        if one.get("Type").text in (REST, HTTP)
        and any(
            not one.get("Properties", key).is_missing for key in ("DefinitionBody", "DefinitionUri")
        )
    )


# Settings of the stage, which have the same form in SAM and in CloudFormation.
_STAGE_SETTINGS = {
    REST: frozenset(
        (
            *("AccessLogSetting", "MethodSettings", "TracingEnabled", "Variables"),
            *("CacheClusterEnabled", "CacheClusterSize", "CanarySetting"),
        )
    ),
    HTTP: frozenset(
        ("AccessLogSettings", "DefaultRouteSettings", "RouteSettings", "StageVariables")
    ),
}


def convert_document_api(context: Context, at: At, shared: At) -> list[At]:
    """Convert an API to the resources that SAM makes of it, or to none if it cannot be read.
    `shared` are the settings of all APIs of the template."""
    properties = _add_shared(at.get("Properties"), shared)
    body = _read_document(context, properties)
    if body is None:
        context.ledger.lose(at, "the API is not carried without its document")
        return []
    context.ledger.carry(at)
    is_rest = at.get("Type").text == REST
    entries, settings = _sort_properties(context, properties, is_rest=is_rest)
    if is_rest and not properties.get("Cors").is_missing:
        body = _add_preflights(body, properties.get("Cors"))
    entries = [KeyValue("Body", 0, 0, body), *entries]
    kind = "AWS::ApiGateway::RestApi" if is_rest else "AWS::ApiGatewayV2::Api"
    others = [
        KeyValue(one.key, one.line, one.column, one.node)
        for one in at.list_entries()
        if one.key in ("DependsOn", "Condition") and one.node is not None
    ]
    made = [build_resource(at, kind, Mapping(tuple(entries), at.line, at.column), others)]
    stage = properties.get("StageName")
    name = build_tree("$default" if not is_rest else "Prod") if stage.node is None else stage.node
    made += _build_stage(at.key, [KeyValue("StageName", 0, 0, name), *settings], is_rest=is_rest)
    if is_rest:
        reason = (
            "changes of the document need a new AWS::ApiGateway::Deployment with another logical id"
        )
        context.ledger.change(at.get("Type"), reason, kind)
    return made


def _sort_properties(
    context: Context, properties: At, *, is_rest: bool
) -> tuple[list[KeyValue], list[KeyValue]]:
    """Return the properties of the API and those of its stage."""
    entries: list[KeyValue] = []
    settings: list[KeyValue] = []
    for one in properties.list_entries():
        if one.node is None or one.key in _CONVERTED or (is_rest and one.key == "Cors"):
            continue
        entry = KeyValue(one.key, one.line, one.column, one.node)
        if one.key in _COPIED:
            entries.append(entry)
        elif one.key in _STAGE_SETTINGS[REST if is_rest else HTTP]:
            settings.append(entry)
        elif one.key == "EndpointConfiguration":
            entries.append(entry._replace(value=_convert_endpoint(one)))
        else:
            context.ledger.lose(
                one,
                f"`{one.key}` of an API with its own document is not converted",
                "write it into the template of the stack",
            )
    return entries, settings


_AUTO_DEPLOY = True
_CONVERTED = (
    "StageName",
    "DefinitionBody",
    "DefinitionUri",
    "OpenApiVersion",
    "AlwaysDeploy",
    "PropagateTags",
)


def _convert_endpoint(at: At) -> Node:
    """The type of an endpoint is a list in CloudFormation."""
    kind = at.get("Type").node if at.is_map and at.get("Type").node is not None else at.node
    types = Sequence((kind,), 0, 0) if kind is not None else Sequence((), 0, 0)
    entries = [KeyValue("Types", 0, 0, types)]
    ids = at.get("VPCEndpointIds").node
    if ids is not None:
        entries.append(KeyValue("VpcEndpointIds", 0, 0, ids))
    return Mapping(tuple(entries), at.line, at.column)


def _add_shared(properties: At, shared: At) -> At:
    """Add the settings of all APIs that this one does not have."""
    node = properties.node if isinstance(properties.node, Mapping) else Mapping((), 0, 0)
    own = {one.key for one in node.entries}
    more = (
        KeyValue(one.key, one.line, one.column, one.node)
        for one in shared.list_entries()
        if one.key not in own and one.node is not None
    )
    return properties._replace(node=node._replace(entries=(*node.entries, *more)))


_CORS_HEADERS = {
    "AllowOrigin": "Allow-Origin",
    "AllowHeaders": "Allow-Headers",
    "AllowMethods": "Allow-Methods",
    "MaxAge": "Max-Age",
}
_METHODS = frozenset(("delete", "get", "head", "options", "patch", "post", "put"))
_ANY = "x-amazon-apigateway-any-method"


def _add_preflights(body: Node, cors: At) -> Node:
    """Answer preflight requests of each path that has no method for them, as SAM does."""
    is_swagger = find_child(body, "swagger") is not None
    said: dict[str, Json] = {
        name: cors.get(key).value
        for key, name in _CORS_HEADERS.items()
        if not cors.get(key).is_missing
    }
    if not cors.is_map:
        said["Allow-Origin"] = cors.value
    if is_true(cors.get("AllowCredentials")):
        said["Allow-Credentials"] = "'true'"
    if not isinstance(body, Mapping):
        return body
    entries = tuple(
        one._replace(value=_add_to_paths(one.value, said, is_swagger=is_swagger))
        if one.key == "paths"
        else one
        for one in body.entries
    )
    return body._replace(entries=entries)


def _add_to_paths(paths: Node, said: dict[str, Json], *, is_swagger: bool) -> Node:
    if not isinstance(paths, Mapping):
        return paths
    entries = (_add_preflight(path, said, is_swagger=is_swagger) for path in paths.entries)
    return paths._replace(entries=tuple(entries))


def _add_preflight(path: KeyValue, said: dict[str, Json], *, is_swagger: bool) -> KeyValue:
    item = path.value
    if not isinstance(item, Mapping):
        return path
    keys = {one.key.lower() for one in item.entries}
    if "options" in keys or get_function(item) is not None:
        return path
    methods = _METHODS if _ANY in keys else keys & _METHODS | {"options"}
    allowed = ",".join(sorted(one.upper() for one in methods))
    answers: dict[str, Json] = {"Allow-Methods": f"'{allowed}'", **said}
    kind: dict[str, Json] = {"type": "string"}
    shape: dict[str, Json] = kind if is_swagger else {"schema": kind}
    headers: dict[str, Json] = {f"Access-Control-{name}": shape for name in answers}
    values: dict[str, Json] = {
        f"method.response.header.Access-Control-{name}": value for name, value in answers.items()
    }
    media = "application/json"
    integration: dict[str, Json] = {
        "type": "mock",
        "requestTemplates": {media: '{"statusCode": 200}'},
        "responses": {
            "default": {
                "statusCode": "200",
                "responseParameters": values,
                "responseTemplates": {media: "{}"},
            }
        },
    }
    method: dict[str, Json] = {
        "summary": "CORS support",
        "responses": {"200": {"description": "Preflight response", "headers": headers}},
        "x-amazon-apigateway-integration": integration,
    }
    entry = KeyValue("options", 0, 0, build_tree(method))
    return path._replace(value=item._replace(entries=(*item.entries, entry)))


def _build_stage(api: str, settings: list[KeyValue], *, is_rest: bool) -> list[At]:
    reference: Json = {"Ref": api}
    stage = build_tree({"RestApiId" if is_rest else "ApiId": reference})
    entries = (*(stage.entries if isinstance(stage, Mapping) else ()), *settings)
    if not is_rest:
        entries = (*entries, KeyValue("AutoDeploy", 0, 0, build_tree(_AUTO_DEPLOY)))
        return [_wrap(f"{api}Stage", "AWS::ApiGatewayV2::Stage", Mapping(entries, 0, 0))]
    entries = (*entries, KeyValue("DeploymentId", 0, 0, build_tree({"Ref": f"{api}Deployment"})))
    return [
        _wrap(
            f"{api}Deployment", "AWS::ApiGateway::Deployment", build_tree({"RestApiId": reference})
        ),
        _wrap(f"{api}Stage", "AWS::ApiGateway::Stage", Mapping(entries, 0, 0)),
    ]


def _wrap(name: str, kind: str, properties: Node) -> At:
    entries = (
        KeyValue("Type", 0, 0, Scalar(kind, kind, 0, 0)),
        KeyValue("Properties", 0, 0, properties),
    )
    return At(Mapping(entries, 0, 0), ("Resources", name))


def _read_document(context: Context, properties: At) -> Node | None:
    """Read the document: written in place, in a file, or included by `AWS::Include`."""
    body, uri = properties.get("DefinitionBody"), properties.get("DefinitionUri")
    if body.node is None:
        return _read_file(context, uri)
    included = find_child(body.node, "Fn::Transform", "Parameters", "Location")
    if included is None:
        if any("Fn::Transform" in leaf.path for leaf in list_leaves(body)):
            context.ledger.lose(body, "a part of the document is included by a transform")
            return None
        return body.node
    return _read_file(context, At(included, body.path, body.line, body.column))


def _read_file(context: Context, at: At) -> Node | None:
    text = context.surroundings.read_text(at.text) if at.text else None
    if text is None:
        context.ledger.lose(at, f"the document `{at.text}` is not a file of the project")
        return None
    try:
        return read(at.text, text.encode(), keeps_tags=True).root
    except FabricError as error:
        context.ledger.lose(at, f"the document `{at.text}` cannot be read: {error.first.message}")
        return None


def build_permission(function: str, api: str) -> At:
    """Build the permission that lets an API with its own document call a function."""
    source = (
        f"arn:${{AWS::Partition}}:execute-api:${{AWS::Region}}:${{AWS::AccountId}}:${{{api}}}/*"
    )
    body: dict[str, Json] = {
        "Action": "lambda:InvokeFunction",
        "FunctionName": {"Fn::GetAtt": f"{function}.Arn"},
        "Principal": "apigateway.amazonaws.com",
        "SourceArn": {"Fn::Sub": source},
    }
    return _wrap(f"{function}{api}Permission", "AWS::Lambda::Permission", build_tree(body))
