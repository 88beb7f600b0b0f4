"""CloudFormation stacks in a config: keys, defaults, and where their outputs can be used."""

import pytest
from msgspec.structs import replace

from fabric.config.values import Stack, StackPolicy
from fabric.model.late_values import format_placeholder
from tests.support.config_texts import HEAD, codes, loaded, problems

TEMPLATE = "template: {Resources: {Q: {Type: 'AWS::SQS::Queue'}}, Outputs: {Url: {Value: x}}}"
REQUIRED = TEMPLATE.replace("{Resources", "{Parameters: {Size: {Type: Number}}, Resources")
OPTIONAL = TEMPLATE.replace(
    "{Resources",
    "{Parameters: {Size: {Default: 1}, Stage: {Default: ''}, Key: {Default: ''}, "
    "Url: {Default: ''}}, Resources",
)
EXPRESS = TEMPLATE + ", mode: express"
PARAMETERS = "parameters: {Url: '${stack:Url}'}"


def config(before: str = "", after: str = "", env: str = "", more: str = "") -> str:
    stacks = [
        f"{name}: {{{keys}}}" for name, keys in (("before", before), ("after", after)) if keys
    ]
    stack = f"stack: {{{', '.join(stacks)}}}"
    extension = f"extensions: {{cloud1-lambda: {{{stack}}}}}\n"
    function = f"functions: [{{name: a, entry: a.ts, env: {{{env}}}}}]\n"
    return f"{HEAD}{extension}{function}{more}"


def stacks(text: str, stage: str = "dev") -> list[Stack]:
    return [replace(one, template=Stack(phase="").template) for one in _all(text, stage)]


def _all(text: str, stage: str) -> tuple[Stack, ...]:
    return loaded(text, stage=stage).supplies.stacks


def test_all_keys_of_a_stack_are_read() -> None:
    text = config(
        f"{OPTIONAL}, name: data, parameters: {{Size: 5, Stage: '${{stage}}'}}, tags: {{team: t}}, "
        "capabilities: [CAPABILITY_IAM], onRemove: delete, protect: true, allowReplace: [Q], "
        "adopt: true, roleArn: 'arn:aws:iam::1:role/x'"
    )
    assert stacks(text) == [
        Stack(
            phase="before",
            name="data",
            parameters=(("Size", "5"), ("Stage", "dev")),
            tags=(("team", "t"),),
            capabilities=("CAPABILITY_IAM",),
            role_arn="arn:aws:iam::1:role/x",
            policy=StackPolicy(on_remove="delete", protect=True, allow_replace=("Q",), adopt=True),
        )
    ]


def test_stacks_are_named_by_service_and_stage() -> None:
    found = stacks(config(TEMPLATE, TEMPLATE), stage="test_1")
    assert [(one.phase, one.name) for one in found] == [
        ("before", "shop-test-1"),
        ("after", "shop-test-1-after"),
    ]


@pytest.mark.parametrize("first", ["data", "shop-dev"])
def test_both_stacks_cannot_have_the_same_name(first: str) -> None:
    before = f"{TEMPLATE}, name: data" if first == "data" else TEMPLATE
    assert codes(config(before, f"{TEMPLATE}, name: {first}")) == ["config/stack"]


def test_a_template_is_required() -> None:
    assert codes(config("name: x")) == ["config/missing-key"]


def test_other_providers_have_no_stacks() -> None:
    text = config(TEMPLATE).replace("name: cloud1-lambda", "name: edge1-workers")
    assert loaded(text).supplies.stacks == ()


def test_functions_use_outputs_of_the_stack_before_them() -> None:
    [function] = loaded(config(TEMPLATE, env="URL: 'x-${stack:Url}'")).functions
    assert function.env == (("URL", "x-\ue000stack:Url\ue001"),)


def test_text_of_cloudformation_stays_in_an_inline_template() -> None:
    text = TEMPLATE.replace("Value: x", "Value: {'Fn::Sub': '${AWS::StackName} ${stack} ${Q}'}")
    [one] = _all(config(text), "dev")
    assert "${AWS::StackName} ${stack} ${Q}" in one.template.text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (config(TEMPLATE, env="URL: '${stack:Uri}'"), "`${stack:Uri}` is not an output"),
        (config(env="URL: '${stack:Url}'"), "`${stack:Url}` is not an output"),
        (config(TEMPLATE + ", " + PARAMETERS), "`stack.before.parameters` must be known"),
        (config(TEMPLATE, TEMPLATE + ", name: '${stack:Url}'"), "`stack.after.name` must be"),
        (
            config(TEMPLATE, more="").replace("stack: {", "region: '${stack:Url}', stack: {"),
            "`extensions.cloud1-lambda.region` must be known",
        ),
        (config(TEMPLATE).replace("a.ts", "'${stack:Url}'"), "entry` must be known before"),
        (config(TEMPLATE, env="URL: '${stack:a.b}'"), "unknown binding"),
        (config(TEMPLATE + ", name: 1x"), "invalid name of a stack: `1x`"),
        (config(TEMPLATE + ", allowReplace: ['a b']"), "`a b` is not a logical id"),
        (config(REQUIRED), "parameter `Size` of the template has no value"),
        (config(REQUIRED + ", parameters: {Sise: 1}"), "`Sise` is not a parameter of the template"),
        (config(TEMPLATE + ", tags: {'aws:x': y}"), "`aws:x` has a reserved prefix"),
        (config(EXPRESS.replace("AWS::SQS::Queue", "Custom::A")), "`Q` is a custom resource"),
        (config(EXPRESS.replace("{Resources", "{Transform: AWS::A, Resources")), "has a transform"),
        (
            config(EXPRESS, more="stages: {prod: {protected: true}}\n"),
            "`stack.before.mode: express` is not set in the protected stage `prod`",
        ),
        (config(TEMPLATE + ", import: {P: {Name: a}}"), "`P` is not a resource of the template"),
        (config(TEMPLATE + ", import: {Q: {Name: a}}"), "`Q` has no `DeletionPolicy`"),
        (config(TEMPLATE, env="URL: '${function:b.arn}'"), "`${function:b.arn}` is not a function"),
        (config(TEMPLATE, env="URL: '${function:a.ref}'"), "unknown binding `${function:a.ref}`"),
        (config(TEMPLATE, env="URL: '${service:net.Url}'"), "is not an output of a dependency"),
        (
            config(TEMPLATE).replace("stack: {", "roleArn: '${function:a.arn}', stack: {"),
            "`extensions.cloud1-lambda.roleArn` must be known before",
        ),
        (config("template: infra.yml"), "`infra.yml` does not exist"),
        (config("template: {Resources: {}}"), "the template, line 3 has no `Resources`"),
        (config(TEMPLATE + ", tags: {x: '${secret:KEY}'}"), "secret in `extensions.cloud1"),
    ],
)
def test_a_wrong_stack_is_rejected(text: str, words: str) -> None:
    stage = "prod" if "protected" in text else "dev"
    found = [one.message for one in problems(text, {"KEY": "value-of-it"}, stage=stage)]
    assert any(words in one for one in found), found


def test_another_resource_in_allow_replace_is_a_warning_because_a_deploy_can_delete_it() -> None:
    [found] = loaded(config(TEMPLATE + ", allowReplace: [Deleted]")).document.warnings
    assert found.message == "`Deleted` of `allowReplace` is not a resource of the template"


def test_parameters_can_be_secret_and_those_of_the_last_stack_outputs() -> None:
    first = OPTIONAL + ", parameters: {Key: '${secret:KEY}'}"
    assert problems(config(first, OPTIONAL + ", " + PARAMETERS), {"KEY": "value"}) == ()


def test_express_mode_is_allowed_where_a_protected_stage_sets_it() -> None:
    keys = "{cloud1-lambda: {stack: {before: {mode: express}}}}"
    more = f"stages: {{prod: {{protected: true, extensions: {keys}}}}}\n"
    [stack] = stacks(config(TEMPLATE, more=more), stage="prod")
    assert stack.mode == "express"


def test_resources_to_import_are_kept_as_json() -> None:
    text = TEMPLATE.replace("Queue'}", "Queue', DeletionPolicy: Retain}")
    [stack] = stacks(config(f"{text}, import: {{Q: {{QueueUrl: u}}}}, notifications: ['arn:a']"))
    assert (stack.imports, stack.notifications) == ('{"Q":{"QueueUrl":"u"}}', ("arn:a",))


_ROUTE = "functions: [{name: a, entry: a.ts, triggers: [{type: http, route: GET:/a}]%s}]\n"
_USES_API = config("", f"{OPTIONAL}, parameters: {{Url: '${{api:id}}', Key: '${{api:url}}'}}")

_USES_URL = config("", f"{OPTIONAL}, parameters: {{Url: '${{function:a.url}}'}}")


def with_route(text: str, more: str = "") -> str:
    return text.replace("functions: [{name: a, entry: a.ts, env: {}}]\n", _ROUTE % more)


def test_parameters_of_the_later_stack_can_use_the_own_api() -> None:
    [found] = stacks(with_route(_USES_API))
    assert [name for name, _ in found.parameters] == ["Url", "Key"]


def test_parameters_of_the_later_stack_can_use_urls_of_functions() -> None:
    for url in ("true", "{authorizer: AWS_IAM}"):
        text = _USES_URL.replace("env: {}", f"url: {url}")
        [found] = stacks(text)
        assert found.parameters[0][1] == format_placeholder("api:a.url")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (_USES_API, "`${api:id}` needs an API"),
        (_USES_URL, "`${function:a.url}` needs the setting `url` of the function"),
        (_USES_URL.replace("env: {}", "url: false"), "`${function:a.url}` needs the setting"),
        (_USES_URL.replace("on:a.", "on:b."), "`${function:b.url}` is not a function"),
        (
            _USES_URL.replace("env: {}", "url: true, env: {A: '${function:a.url}'}"),
            "`functions.a.env` uses `${function:a.url}`, which is known only after the release",
        ),
        (with_route(_USES_API, ", env: {A: '${api:id}'}"), "`functions.a.env` uses `${api:id}`"),
        (with_route(HEAD + "env: {A: '${api:url}'}\n") + _ROUTE % "", "`env` uses `${api:url}`"),
        (
            with_route(config(f"{OPTIONAL}, parameters: {{Url: '${{api:id}}'}}")),
            "`stack.before.parameters` uses `${api:id}`",
        ),
        (with_route(_USES_API).replace("api:id", "api:arn"), "unknown binding `${api:arn}`"),
        (
            with_route(config("", f"{TEMPLATE}, name: '${{api:id}}'")),
            "`stack.after.name` uses `${api:id}`",
        ),
        (
            HEAD + _ROUTE % "" + "extensions: {cloud1-lambda: {roleArn: '${api:id}'}}\n",
            "`extensions.cloud1-lambda.roleArn` uses `${api:id}`",
        ),
    ],
)
def test_the_own_api_is_known_only_after_the_release(text: str, message: str) -> None:
    found = problems(text)
    assert any(message in one.message for one in found), found
    assert len({(one.message, one.where) for one in found}) == len(found)


def test_a_template_with_a_role_requires_a_capability() -> None:
    role = TEMPLATE.replace("AWS::SQS::Queue", "AWS::IAM::Role")
    assert codes(config(role)) == ["config/stack"]
    assert codes(config(f"{role}, capabilities: [CAPABILITY_IAM]")) == []
