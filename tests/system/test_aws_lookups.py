"""References read parameters, secrets, stack outputs and Terraform states."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest

from fabric.model.lookups import LookupKind, LookupValue, NamedLookup
from fabric.model.problems import FabricError
from fabric.system.aws_lookups import AwsLookups
from tests.support.servers.moto import Moto, moto

pytestmark = pytest.mark.slow

_ENV = {
    "AWS_ACCESS_KEY_ID": "testing",
    "AWS_SECRET_ACCESS_KEY": "testing",
    "AWS_REGION": "eu-central-1",
}
_TEMPLATE = {
    "Resources": {"Topic": {"Type": "AWS::SNS::Topic", "Properties": {"TopicName": "orders"}}},
    "Outputs": {"TopicArn": {"Value": {"Ref": "Topic"}}},
}
_STATE = {
    "version": 4,
    "outputs": {
        "table": {"value": "orders", "type": "string"},
        "ports": {"value": [80, 443], "type": "list"},
        "password": {"value": "hidden-word", "type": "string", "sensitive": True},
    },
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Moto]:
    with moto(tmp_path_factory.mktemp("moto")) as running:
        ssm, secrets = client(running, "ssm"), client(running, "secretsmanager")
        for number in range(12):
            ssm.put_parameter(Name=f"/shop/{number}", Value=f"value {number}", Type="String")
        ssm.put_parameter(Name="/shop/key", Value="hidden-word", Type="SecureString")
        secrets.create_secret(Name="shop/db", SecretString='{"user": "ann", "port": 5432}')
        template = json.dumps(_TEMPLATE)
        client(running, "cloudformation").create_stack(StackName="data", TemplateBody=template)
        body = json.dumps(_STATE).encode()
        client(running, "s3").put_object(Bucket="fabric-state", Key="infra.tfstate", Body=body)
        yield running


def client(server: Moto, service: str) -> Any:
    return boto3.client(
        service,
        endpoint_url=server.endpoint,
        region_name="eu-central-1",
        aws_access_key_id="testing",
        aws_secret_access_key="testing",  # noqa: S106
    )


def lookups(server: Moto, folder: Path, *names: NamedLookup) -> AwsLookups:
    return AwsLookups({**_ENV, "AWS_ENDPOINT_URL": server.endpoint}, folder, names)


@pytest.mark.parametrize(
    ("kind", "name", "value"),
    [
        ("ssm", "/shop/1", LookupValue("value 1")),
        ("ssm", "/shop/1:1", LookupValue("value 1")),
        ("ssm", "/shop/key", LookupValue("hidden-word", is_secret=True)),
        ("ssm", "/shop/none", None),
        ("secretsmanager", "shop/db#user", LookupValue("ann", is_secret=True)),
        ("secretsmanager", "shop/db#port", LookupValue("5432", is_secret=True)),
        ("secretsmanager", "shop/db#none", None),
        ("secretsmanager", "shop/none", None),
        ("cfn", "data.None", None),
        ("cfn", "none.TopicArn", None),
        ("tf", "s3://fabric-state/infra.tfstate#table", LookupValue("orders")),
        ("tf", "s3://fabric-state/infra.tfstate#ports", LookupValue("[80, 443]")),
        (
            "tf",
            "s3://fabric-state/infra.tfstate#password",
            LookupValue("hidden-word", is_secret=True),
        ),
        ("tf", "s3://fabric-state/none#table", None),
        ("tf", "none.tfstate#table", None),
        ("aws", "region", LookupValue("eu-central-1")),
        ("aws", "partition", LookupValue("aws")),
    ],
)
def test_each_kind_of_reference_reads_its_value(
    server: Moto, tmp_path: Path, kind: str, name: str, value: LookupValue | None
) -> None:
    assert lookups(server, tmp_path).read(LookupKind(kind), name, "") == value


def test_the_output_of_a_stack_and_the_account_are_read(server: Moto, tmp_path: Path) -> None:
    reader = lookups(server, tmp_path)
    output = reader.read(LookupKind.CFN, "data.TopicArn", "")
    account = reader.read(LookupKind.AWS, "accountId", "")
    assert output is not None
    assert account is not None
    assert output.text == f"arn:aws:sns:eu-central-1:{account.text}:orders"


def test_parameters_are_read_ten_at_a_time(server: Moto, tmp_path: Path) -> None:
    names = [NamedLookup(LookupKind.SSM, f"/shop/{number}") for number in range(12)]
    reader = lookups(server, tmp_path, *names)
    reader.read(LookupKind.SSM, "/shop/0", "")
    # All are known now, without the server.
    closed = AwsLookups.read(reader, LookupKind.SSM, "/shop/11", "")
    assert closed == LookupValue("value 11")


def test_a_state_in_the_project_is_read(server: Moto, tmp_path: Path) -> None:
    (tmp_path / "infra.tfstate").write_text(json.dumps(_STATE))
    reader = lookups(server, tmp_path)
    assert reader.read(LookupKind.TF, "infra.tfstate#table", "") == LookupValue("orders")


@pytest.mark.parametrize("content", ["{", "[]", '{"version": 3}'])
def test_another_file_is_no_state(server: Moto, tmp_path: Path, content: str) -> None:
    (tmp_path / "infra.tfstate").write_text(content)
    with pytest.raises(FabricError) as raised:
        lookups(server, tmp_path).read(LookupKind.TF, "infra.tfstate#table", "")
    assert raised.value.first.code == "config/unresolved-reference"


def test_an_unreachable_service_is_named(tmp_path: Path) -> None:
    reader = AwsLookups({**_ENV, "AWS_ENDPOINT_URL": "http://127.0.0.1:1"}, tmp_path)
    with pytest.raises(FabricError, match=r"cannot read `\$\{ssm:/shop/1\}`") as raised:
        reader.read(LookupKind.SSM, "/shop/1", "")
    assert raised.value.first.code == "provider/unreachable"
    assert raised.value.exit_code == 69
