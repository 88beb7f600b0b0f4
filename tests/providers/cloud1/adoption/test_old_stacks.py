"""The steps that keep resources of another tool's stack."""

from fabric.providers.cloud1.adoption.old_stacks import OldResource, OldStack, list_protection_steps


def resource(name: str, kind: str = "AWS::Lambda::Function") -> OldResource:
    return OldResource("shop-dev", name, kind, name.lower(), is_retained=False)


def test_serverless_framework_stacks_are_protected_in_its_own_file() -> None:
    bucket = resource("ServerlessDeploymentBucket", "AWS::S3::Bucket")
    stack = OldStack("shop-dev", (resource("HelloLambdaFunction"), bucket))
    steps = list(list_protection_steps(stack, stack.resources[:1], "dev"))
    assert steps[1:5] == [
        "resources:",
        "  extensions:",
        "    HelloLambdaFunction:",
        "      DeletionPolicy: Retain",
    ]
    assert steps[-1] == "Then run: serverless deploy --stage dev"


def test_resources_of_a_transform_are_protected_at_their_source() -> None:
    names = ("HelloFunction", "HelloFunctionRole", "HelloFunctionOrdersEvent", "OtherFunction")
    stack = OldStack("shop-dev", tuple(map(resource, names)), sources=("Hello", *names[::3]))
    steps = list(list_protection_steps(stack, stack.resources, "dev"))
    assert "Add these attributes in template.yml to: HelloFunction, OtherFunction" in steps


def test_large_templates_are_updated_from_a_bucket() -> None:
    stack = OldStack(
        "shop-dev", (resource("Hello"),), capabilities=("CAPABILITY_IAM",), size=60_000
    )
    steps = list(list_protection_steps(stack, stack.resources, "dev"))
    assert steps[-1] == (
        "aws cloudformation deploy --stack-name shop-dev --template-file template.yml "
        "--s3-bucket BUCKET --capabilities CAPABILITY_IAM"
    )


def test_nested_stacks_are_protected_in_the_template_of_their_parent() -> None:
    stack = OldStack("shop-dev-api", (resource("Hello"),), parent="shop-dev")
    steps = list(list_protection_steps(stack, stack.resources, "dev"))
    assert steps[0] == "Add these attributes in the template of the nested stack to: Hello"
    assert steps[-1] == "Then deploy the stack shop-dev, which contains it"


def test_other_stacks_keep_their_parameters_and_capabilities() -> None:
    stack = OldStack("shop-dev", (resource("Hello"),), ("Stage",), ("CAPABILITY_IAM",))
    steps = list(list_protection_steps(stack, stack.resources, "dev"))
    assert "Add these attributes in template.yml to: Hello" in steps
    [update] = [one for one in steps if "update-stack" in one]
    assert update.endswith(
        "--capabilities CAPABILITY_IAM --parameters ParameterKey=Stage,UsePreviousValue=true"
    )
