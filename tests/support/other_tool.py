"""A service that another tool deployed to a strict cloud1: functions with a stack, and an API."""

import json
from dataclasses import dataclass, field
from typing import Any

from tests.support.cloud1_shop import Shop
from tests.support.cloud1_site import make_queue
from tests.support.function_archive import archive

RETAIN = {"DeletionPolicy": "Retain"}


@dataclass
class OtherTool:
    """What the other tool made for the functions of a shop."""

    shop: Shop
    resources: dict[str, dict[str, str]] = field(default_factory=dict)
    url: str = ""

    @property
    def functions(self) -> Any:
        return self.shop.cloud1.client("lambda")

    def deploys(self, name: str, word: str, **settings: object) -> str:
        """A function, by its name in the config. Returns its ARN."""
        text = "def handler(event, context):\n    return "
        code = archive(index_py=f"{text}{ {'statusCode': 200, 'body': word}!r}\n")
        made = self.functions.create_function(
            **{
                "FunctionName": f"shop-dev-{name}",
                "Runtime": "python3.11",
                "Role": self.shop.role,
                "Handler": "index.handler",
                "Code": {"ZipFile": code},
                "Tags": {"STAGE": "dev"},
                **settings,
            }
        )
        self.functions.get_waiter("function_active_v2").wait(FunctionName=made["FunctionName"])
        self._add(f"{name.title()}LambdaFunction", "AWS::Lambda::Function", made["FunctionName"])
        return ":".join(made["FunctionArn"].split(":")[:7])

    def publishes_layer(self, name: str) -> str:
        """A layer of one file. Returns the ARN of its version."""
        content = {"ZipFile": archive(shared_py="ONE = 1\n")}
        made = self.functions.publish_layer_version(LayerName=name, Content=content)
        return str(made["LayerVersionArn"])

    def serves(self, arn: str, path: str) -> None:
        """An HTTP API for everything below the path."""
        gateways = self.shop.cloud1.client("apigatewayv2")
        api = gateways.create_api(Name="dev-shop", ProtocolType="HTTP")
        ident = api["ApiId"]
        integration = gateways.create_integration(
            ApiId=ident,
            IntegrationType="AWS_PROXY",
            IntegrationUri=arn,
            PayloadFormatVersion="2.0",
        )
        gateways.create_route(
            ApiId=ident,
            RouteKey=f"GET {path}",
            Target=f"integrations/{integration['IntegrationId']}",
        )
        gateways.create_stage(ApiId=ident, StageName="$default", AutoDeploy=True)
        account = self.shop.cloud1.account
        self.functions.add_permission(
            FunctionName=arn,
            StatementId="api",
            Action="lambda:InvokeFunction",
            Principal="apigateway.amazonaws.com",
            SourceArn=f"arn:aws:execute-api:us-east-1:{account}:{ident}/*",
        )
        self._add("HttpApi", "AWS::ApiGatewayV2::Api", ident)
        self.url = f"{api['ApiEndpoint']}{path}"

    def feeds(self, arn: str, queue: str = "work") -> str:
        """A queue whose messages the function gets. Returns the id of the mapping."""
        make_queue(self.shop.cloud1, queue)
        source = f"arn:aws:sqs:us-east-1:{self.shop.cloud1.account}:{queue}"
        made = self.functions.create_event_source_mapping(
            FunctionName=arn, EventSourceArn=source, BatchSize=5
        )
        self._add("Mapping", "AWS::Lambda::EventSourceMapping", made["UUID"])
        return str(made["UUID"])

    def schedules(self, arn: str, schedule: str = "rate(1 hour)", name: str = "old-rule") -> None:
        events = self.shop.cloud1.client("events")
        rule = events.put_rule(Name=name, ScheduleExpression=schedule)["RuleArn"]
        self.functions.add_permission(
            FunctionName=arn,
            StatementId=name,
            Action="lambda:InvokeFunction",
            Principal="events.amazonaws.com",
            SourceArn=rule,
        )
        target = {"Id": "theirs", "Arn": arn, "Input": json.dumps({"from": "them"})}
        events.put_targets(Rule=name, Targets=[target])
        self._add("Rule", "AWS::Events::Rule", name)

    def permits(self, arn: str, principal: str, source: str) -> None:
        self.functions.add_permission(
            FunctionName=arn,
            StatementId=f"theirs-{len(source)}",
            Action="lambda:InvokeFunction",
            Principal=principal,
            SourceArn=source,
        )

    def owns(self, *, retained: bool = True) -> None:
        """All of it is in the stack of the other tool."""
        policy = RETAIN if retained else {}
        rows = {name: {**one, **policy} for name, one in self.resources.items()}
        self.shop.cloud1.has_stack("shop-dev", rows)

    def _add(self, name: str, kind: str, ident: str) -> None:
        self.resources[name] = {"Type": kind, "id": ident}

    @property
    def source(self) -> str:
        """What the queue feeds."""
        uuid = self.resources["Mapping"]["id"]
        return str(self.functions.get_event_source_mapping(UUID=uuid)["FunctionArn"])

    def describe(self, name: str, qualifier: str = "") -> dict[str, Any]:
        more = {"Qualifier": qualifier} if qualifier else {}
        found: dict[str, Any] = self.functions.get_function(FunctionName=f"shop-dev-{name}", **more)
        return found
