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


def test_other_stacks_keep_their_parameters_and_capabilities() -> None:
    stack = OldStack("shop-dev", (resource("Hello"),), ("Stage",), ("CAPABILITY_IAM",))
    steps = list(list_protection_steps(stack, stack.resources, "dev"))
    assert "Add these attributes in template.yml to: Hello" in steps
    [update] = [one for one in steps if "update-stack" in one]
    assert update.endswith(
        "--capabilities CAPABILITY_IAM --parameters ParameterKey=Stage,UsePreviousValue=true"
    )
