"""Functions, as the strict server keeps them."""

import io
import zipfile
from typing import Any

import pytest

from tests.servers.strict_cloud1.refused import refused
from tests.support.servers.strict_cloud1.client import StrictCloud1
from tests.support.servers.strict_cloud1.samples import (
    call,
    create,
    live,
    role_of,
    saying,
    settle,
    update,
)

pytestmark = pytest.mark.slow


def test_a_new_function_is_pending_until_it_was_looked_at_often_enough(
    cloud1: StrictCloud1,
) -> None:
    cloud1.changes_take(2)
    create(cloud1)
    client = cloud1.client("lambda")
    states = [
        client.get_function(FunctionName="hello", Qualifier="1")["Configuration"]["State"]
        for _ in range(3)
    ]
    assert states == ["Pending", "Pending", "Active"]


def test_a_function_that_is_still_made_cannot_be_called(cloud1: StrictCloud1) -> None:
    create(cloud1)
    with refused("ResourceConflictException", "Pending"):
        call(cloud1)
    assert call(cloud1)["said"] == "one"


def test_a_change_while_another_is_under_way_is_a_conflict(cloud1: StrictCloud1) -> None:
    create(cloud1)
    client = cloud1.client("lambda")
    with refused("ResourceConflictException", "An update is in progress") as refusal:
        client.update_function_configuration(FunctionName="hello", Timeout=9)
    assert refusal.status == 409
    changed = client.update_function_configuration(FunctionName="hello", Timeout=9)
    assert changed["LastUpdateStatus"] == "InProgress"
    with refused("ResourceConflictException", "An update is in progress"):
        client.publish_version(FunctionName="hello")


def test_two_functions_of_one_name_are_a_conflict(cloud1: StrictCloud1) -> None:
    create(cloud1)
    with refused("ResourceConflictException", "Function already exist: hello"):
        create(cloud1)


def test_publishing_unchanged_code_creates_no_version(cloud1: StrictCloud1) -> None:
    create(cloud1)
    client = cloud1.client("lambda")
    settle(cloud1)
    assert client.publish_version(FunctionName="hello")["Version"] == "1"
    assert update(cloud1, "one") == "1"
    assert update(cloud1, "two") == "2"
    versions = client.list_versions_by_function(FunctionName="hello")["Versions"]
    assert [one["Version"] for one in versions] == ["$LATEST", "1", "2"]


def test_a_number_of_a_version_never_comes_back(cloud1: StrictCloud1) -> None:
    create(cloud1)
    settle(cloud1)
    assert update(cloud1, "two") == "2"
    cloud1.client("lambda").delete_function(FunctionName="hello", Qualifier="2")
    assert update(cloud1, "three") == "3"


def test_a_version_keeps_its_code_and_its_settings(cloud1: StrictCloud1) -> None:
    create(cloud1, Timeout=7)
    settle(cloud1)
    update(cloud1, "two")
    client = cloud1.client("lambda")
    client.update_function_configuration(FunctionName="hello", Timeout=9)
    settle(cloud1)
    said = [call(cloud1, qualifier=one)["said"] for one in ("1", "2")]
    assert said == ["one", "two"]
    old = client.get_function_configuration(FunctionName="hello", Qualifier="1")
    assert (old["Timeout"], old["Version"]) == (7, "1")


def test_a_digest_that_is_not_the_latest_publishes_nothing(cloud1: StrictCloud1) -> None:
    made = create(cloud1)
    settle(cloud1)
    client = cloud1.client("lambda")
    client.update_function_code(FunctionName="hello", ZipFile=saying("two"))
    settle(cloud1)
    with refused("InvalidParameterValueException", "is different from current CodeSHA256"):
        client.publish_version(FunctionName="hello", CodeSha256=made["CodeSha256"])


def test_a_revision_that_is_not_the_latest_changes_nothing(cloud1: StrictCloud1) -> None:
    create(cloud1)
    client = cloud1.client("lambda")
    old = settle(cloud1)["Configuration"]["RevisionId"]
    client.update_function_configuration(FunctionName="hello", Timeout=9, RevisionId=old)
    settle(cloud1)
    with refused("PreconditionFailedException") as refusal:
        client.update_function_configuration(FunctionName="hello", Timeout=10, RevisionId=old)
    assert refusal.status == 412


def test_a_role_that_is_not_there_cannot_be_assumed(cloud1: StrictCloud1) -> None:
    role = role_of(cloud1) + "-of-another"
    with refused("InvalidParameterValueException", "cannot be assumed by Lambda"):
        create(cloud1, Role=role)


def test_a_role_that_is_new_can_be_assumed_after_some_tries(cloud1: StrictCloud1) -> None:
    role = role_of(cloud1)
    cloud1.role_is_slow(times=2)
    for _ in range(2):
        with refused("InvalidParameterValueException", "cannot be assumed by Lambda"):
            create(cloud1, Role=role)
    create(cloud1, Role=role)


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"BIG": "x" * 4096}, "exceeded the 4KB limit"),
        ({"AWS_REGION": "mine"}, "Reserved keys used in this request: AWS_REGION"),
    ],
    ids=["too large", "reserved"],
)
def test_an_environment_that_is_too_large_or_has_reserved_names_is_refused(
    cloud1: StrictCloud1, variables: dict[str, str], words: str
) -> None:
    with refused("InvalidParameterValueException", words):
        create(cloud1, Environment={"Variables": variables})


def test_invalid_archive_is_refused(cloud1: StrictCloud1) -> None:
    with refused("InvalidParameterValueException", "Could not unzip"):
        create(cloud1, Code={"ZipFile": b"not a zip"})


def test_an_archive_over_50_mb_is_refused(cloud1: StrictCloud1) -> None:
    with refused("RequestEntityTooLargeException") as refusal:
        create(cloud1, Code={"ZipFile": b"x" * (50 * 1024 * 1024 + 1)})
    assert refusal.status == 413


def test_an_archive_that_unpacks_to_250_mb_is_refused(cloud1: StrictCloud1) -> None:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("index.mjs", "")
        # What the list of the archive says is believed.
        archive.filelist[0].file_size = 250 * 1024 * 1024
    with refused("InvalidParameterValueException", "Unzipped size must be smaller"):
        create(cloud1, Code={"ZipFile": made.getvalue()})


def test_an_archive_may_come_from_a_bucket(cloud1: StrictCloud1) -> None:
    bucket = f"archives-{cloud1.account}"
    cloud1.client("s3").create_bucket(Bucket=bucket)
    code = {"S3Bucket": bucket, "S3Key": "hello.zip"}
    with refused("InvalidParameterValueException", "NoSuchKey"):
        create(cloud1, Code=code)
    cloud1.client("s3").put_object(Bucket=bucket, Key="hello.zip", Body=saying("from a bucket"))
    create(cloud1, Code=code)
    settle(cloud1)
    assert call(cloud1)["said"] == "from a bucket"


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"FunctionName": "has a blank"}, "regular expression"),
        ({"Runtime": "cobol74"}, "enum value set"),
        ({"Timeout": 999_999}, "less than or equal to"),
        ({"Description": "x" * 257}, "length less than or equal to 256"),
        ({"Role": "functions"}, "regular expression"),
        ({"FunctionName": "x" * 65}, "less than or equal to 64"),
    ],
    ids=["pattern", "closed list", "range", "length", "role", "name"],
)
def test_values_outside_the_service_model_are_refused(
    cloud1: StrictCloud1, changed: dict[str, Any], words: str
) -> None:
    with refused("ValidationException", words):
        create(cloud1, **changed)


def test_unsupported_option_is_refused(cloud1: StrictCloud1) -> None:
    with refused("NotWrittenInThisServer", "CodeSigningConfigArn"):
        create(
            cloud1,
            CodeSigningConfigArn="arn:aws:lambda:us-east-1:123456789012:code-signing-config:csc-0123456789abcdef0",
        )


def test_deleting_a_function_deletes_its_versions_and_aliases(cloud1: StrictCloud1) -> None:
    live(cloud1)
    client = cloud1.client("lambda")
    client.delete_function(FunctionName="hello")
    with refused("ResourceNotFoundException", "Function not found"):
        client.get_alias(FunctionName="hello", Name="live")
    create(cloud1)
    settle(cloud1)
    assert client.list_aliases(FunctionName="hello")["Aliases"] == []
    assert cloud1.left() == {"functions": ["hello"]}


def test_a_version_that_an_alias_names_stays(cloud1: StrictCloud1) -> None:
    live(cloud1)
    client = cloud1.client("lambda")
    with refused("ResourceConflictException", "aliases reference it"):
        client.delete_function(FunctionName="hello", Qualifier="1")
    client.delete_alias(FunctionName="hello", Name="live")
    client.delete_function(FunctionName="hello", Qualifier="1")


def test_a_function_is_of_its_region(cloud1: StrictCloud1) -> None:
    create(cloud1)
    abroad = StrictCloud1(cloud1.endpoint, cloud1.key, "eu-west-1")
    with refused("ResourceNotFoundException"):
        abroad.client("lambda").get_function(FunctionName="hello")
    arn = create(abroad, Role=role_of(cloud1))["FunctionArn"]
    assert arn == f"arn:aws:lambda:eu-west-1:{cloud1.account}:function:hello:1"
    with refused("ResourceNotFoundException", "are not reachable in this region"):
        cloud1.client("lambda").get_function(FunctionName=arn)
    abroad.close()


def test_concurrency_can_be_reserved_and_released(cloud1: StrictCloud1) -> None:
    live(cloud1)
    client = cloud1.client("lambda")
    client.put_function_concurrency(FunctionName="hello", ReservedConcurrentExecutions=0)
    with refused("TooManyRequestsException"):
        call(cloud1)
    shown = client.get_function(FunctionName="hello")["Concurrency"]
    assert shown == {"ReservedConcurrentExecutions": 0}
    with refused("InvalidParameterValueException", "below its minimum value of [100]"):
        client.put_function_concurrency(FunctionName="hello", ReservedConcurrentExecutions=901)
    client.delete_function_concurrency(FunctionName="hello")
    assert call(cloud1)["said"] == "one"


def test_tags_are_of_the_whole_function(cloud1: StrictCloud1) -> None:
    arn = live(cloud1, Tags={"team": "a"})
    client, own = cloud1.client("lambda"), arn.removesuffix(":live")
    client.tag_resource(Resource=own, Tags={"stage": "dev"})
    client.untag_resource(Resource=own, TagKeys=["team"])
    assert client.get_function(FunctionName="hello")["Tags"] == {"stage": "dev"}
    with refused("InvalidParameterValueException"):
        client.tag_resource(Resource=arn, Tags={"stage": "dev"})
