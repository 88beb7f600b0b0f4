"""APIs of AWS SAM with an OpenAPI document, as resources of a stack.

The routes of such an API are those of its document, so it stays a resource of CloudFormation.
"""

from typing import TYPE_CHECKING

from fabric.config.yaml.nodes import KeyValue, Mapping, Node, Scalar, Sequence, find_child
from fabric.config.yaml.reader import read
from fabric.importing.context import Context
from fabric.importing.sam.resources import build_resource
from fabric.importing.source import At, list_leaves
from fabric.model.problems import FabricError
from fabric.scaffold.yaml_text import build_tree

if TYPE_CHECKING:
    from fabric.model.outcomes.json_struct import Json

REST, HTTP = "AWS::Serverless::Api", "AWS::Serverless::HttpApi"
_COPIED = {
    "Name": "Name",
    "Description": "Description",
    "BinaryMediaTypes": "BinaryMediaTypes",
    "MinimumCompressionSize": "MinimumCompressionSize",
    "ApiKeySourceType": "ApiKeySourceType",
    "DisableExecuteApiEndpoint": "DisableExecuteApiEndpoint",
    "Mode": "Mode",
    "FailOnWarnings": "FailOnWarnings",
}


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


def convert_document_api(context: Context, at: At) -> list[At]:
    """Convert an API to the resources that SAM makes of it, or to none if it cannot be read."""
    properties = at.get("Properties")
    body = _read_document(context, properties)
    if body is None:
        return []
    context.ledger.carry(at)
    is_rest = at.get("Type").text == REST
    entries = [KeyValue("Body", 0, 0, body)]
    for one in properties.list_entries():
        if one.key in _COPIED and one.node is not None:
            entries.append(KeyValue(_COPIED[one.key], one.line, one.column, one.node))
        elif one.key == "EndpointConfiguration":
            entries.append(KeyValue(one.key, one.line, one.column, _convert_endpoint(one)))
        elif one.key not in _STAGE_KEYS:
            context.ledger.lose(
                one,
                f"`{one.key}` of an API with its own document is not converted",
                "write it into the template of the stack",
            )
    kind = "AWS::ApiGateway::RestApi" if is_rest else "AWS::ApiGatewayV2::Api"
    others = [
        KeyValue(one.key, one.line, one.column, one.node)
        for one in at.list_entries()
        if one.key in ("DependsOn", "Condition") and one.node is not None
    ]
    made = [build_resource(at, kind, Mapping(tuple(entries), at.line, at.column), others)]
    stage = properties.get("StageName")
    name = build_tree("$default" if not is_rest else "Prod") if stage.node is None else stage.node
    made += _build_stage(at.key, name, is_rest=is_rest)
    if is_rest:
        reason = (
            "changes of the document need a new AWS::ApiGateway::Deployment with another logical id"
        )
        context.ledger.change(at.get("Type"), reason, kind)
    return made


_AUTO_DEPLOY = True
_STAGE_KEYS = (
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


def _build_stage(api: str, name: Node, *, is_rest: bool) -> list[At]:
    reference: Json = {"Ref": api}
    stage = build_tree({"RestApiId" if is_rest else "ApiId": reference})
    entries = stage.entries if isinstance(stage, Mapping) else ()
    entries = (*entries, KeyValue("StageName", 0, 0, name))
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
