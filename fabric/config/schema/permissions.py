"""The key `permissions` of a function: IAM statements, managed policies and templates."""

from fabric.config.schema.shapes import Anything, Either, Field, Fields, Flag, Many, OneOf, Text
from fabric.model.policy_templates import POLICY_TEMPLATES, list_template_parameters

_FILLED = Text(r"\S", "text that is not empty")
_TEXTS = Either((Many(_FILLED, 1), _FILLED))
_EFFECT = OneOf(("Allow", "Deny"), "an effect")
_STATEMENT = (
    Field("effect", _EFFECT, "Whether to allow or deny. Default: Allow.", "Deny"),
    Field("actions", _TEXTS, "IAM actions.", ["dynamodb:GetItem"]),
    Field("notActions", _TEXTS, "All IAM actions except these.", ["iam:*"]),
    Field("resources", _TEXTS, "ARNs of the resources.", ["*"]),
    Field("notResources", _TEXTS, "All resources except these.", ["*"]),
    Field(
        "condition",
        Anything(),
        "Condition.",
        {"StringEquals": {"aws:RequestedRegion": "eu-west-1"}},
    ),
    Field("sid", _FILLED, "Name of the statement.", "ReadOrders"),
)
# As in policies of IAM, which people paste.
_PASTED = (
    Field("Effect", _EFFECT, "The same as `effect`.", "Allow"),
    Field("Action", _TEXTS, "The same as `actions`.", ["dynamodb:GetItem"]),
    Field("NotAction", _TEXTS, "The same as `notActions`.", ["iam:*"]),
    Field("Resource", _TEXTS, "The same as `resources`.", ["*"]),
    Field("NotResource", _TEXTS, "The same as `notResources`.", ["*"]),
    Field("Condition", Anything(), "The same as `condition`.", {}),
    Field("Sid", _FILLED, "The same as `sid`.", "ReadOrders"),
)


def _build_template_field(name: str) -> Field:
    parameters = list_template_parameters(name)
    fields = tuple(
        Field(one, _FILLED, "Parameter of the template.", "orders", required=True)
        for one in parameters
    )
    return Field(
        name, Fields(fields), "Policy template of AWS SAM.", dict.fromkeys(parameters, "orders")
    )


_ENTRY = Fields(
    (*_STATEMENT, *_PASTED, *(_build_template_field(name) for name in POLICY_TEMPLATES)),
    definition="permission",
    hint="use the keys `actions` and `resources` of a statement, or a policy template of AWS SAM",
)
PERMISSIONS = Field(
    "permissions",
    Either((Many(Either((_FILLED, _ENTRY))), Flag())),
    "Permissions of the function (AWS Lambda only): IAM statements, managed policies by ARN or "
    "name, and policy templates of AWS SAM. fabric creates a role for the function.",
    [{"DynamoDBReadPolicy": {"TableName": "orders"}}],
)
