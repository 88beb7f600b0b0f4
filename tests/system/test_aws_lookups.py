"""References read parameters, secrets, stack outputs and Terraform states."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Barrier, Thread
from typing import Any, ClassVar

import boto3
import pytest

from fabric.model.lookups import LookupKind, LookupPlace, LookupValue, NamedLookup, SecretPin
from fabric.model.problems import FabricError
from fabric.system.aws_lookups import AwsLookups
from fabric.system.aws_secrets import AwsSecretValues
from tests.support.in_process import project
from tests.support.project import handler
from tests.support.servers.moto import Moto, moto

pytestmark = pytest.mark.slow

_ENV = {
    "AWS_ACCESS_KEY_ID": "testing",
    "AWS_SECRET_ACCESS_KEY": "testing",
    "AWS_REGION": "eu-central-1",
}
_PLACE = LookupPlace()
_TEMPLATE = {
    "Resources": {"Topic": {"Type": "AWS::SNS::Topic", "Properties": {"TopicName": "orders"}}},
    "Outputs": {
        "TopicArn": {"Value": {"Ref": "Topic"}},
        "Name": {"Value": "orders", "Export": {"Name": "shared:topic"}},
    },
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


def client(server: Moto, service: str, region: str = "eu-central-1") -> Any:
    return boto3.client(
        service,
        endpoint_url=server.endpoint,
        region_name=region,
        aws_access_key_id="testing",
        aws_secret_access_key="testing",  # noqa: S106
    )


def lookups(server: Moto, folder: Path) -> AwsLookups:
    return AwsLookups({**_ENV, "AWS_ENDPOINT_URL": server.endpoint}, folder)


@pytest.mark.parametrize(
    ("kind", "name", "value"),
    [
        ("ssm", "/shop/1", LookupValue("value 1")),
        ("ssm", "/shop/1:1", LookupValue("value 1")),
        ("ssm", "/shop/none", None),
        ("secretsmanager", "shop/none", None),
        ("secretsmanager", "shop/none.arn", None),
        ("secretsmanager", "shop/db::AWSPENDING", None),
        ("cfn", "data.None", None),
        ("cfn", "none.TopicArn", None),
        ("cfn-export", "shared:topic", LookupValue("orders")),
        ("cfn-export", "shared:none", None),
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
    assert lookups(server, tmp_path).read(LookupKind(kind), name, _PLACE) == value


@pytest.mark.parametrize(
    ("kind", "name", "source"),
    [
        ("ssm", "/shop/key", "/shop/key"),
        ("secretsmanager", "shop/db", "shop/db"),
        ("secretsmanager", "shop/db#user", "shop/db"),
        ("secretsmanager", "shop/db:user", "shop/db"),
    ],
)
def test_a_secret_is_read_by_its_version(
    server: Moto, tmp_path: Path, kind: str, name: str, source: str
) -> None:
    found = lookups(server, tmp_path).read(LookupKind(kind), name, _PLACE)
    assert found is not None
    assert (found.text, found.is_secret) == ("", True)
    assert found.pin is not None
    assert (found.pin.source, bool(found.pin.version)) == (source, True)


@pytest.mark.parametrize(
    ("kind", "name", "value"),
    [
        ("ssm", "/shop/key", "hidden-word"),
        ("secretsmanager", "shop/db", '{"user": "ann", "port": 5432}'),
        ("secretsmanager", "shop/db#user", "ann"),
        ("secretsmanager", "shop/db:port", "5432"),
    ],
)
def test_the_value_of_a_version_is_read(
    server: Moto, tmp_path: Path, kind: str, name: str, value: str
) -> None:
    found = lookups(server, tmp_path).read(LookupKind(kind), name, _PLACE)
    assert found is not None
    assert found.pin is not None
    assert values_of(server, found.pin) == {found.pin: value}


def values_of(server: Moto, *pins: SecretPin) -> Mapping[SecretPin, str]:
    env = {**_ENV, "AWS_ENDPOINT_URL": server.endpoint}
    return AwsSecretValues(env).read(pins).reveal()


def test_an_arn_is_not_a_secret(server: Moto, tmp_path: Path) -> None:
    found = lookups(server, tmp_path).read(LookupKind.SECRETS_MANAGER, "shop/db.arn", _PLACE)
    assert found is not None
    assert found.text.startswith("arn:aws:secretsmanager:eu-central-1:")
    assert not found.is_secret


@pytest.mark.parametrize(
    ("kind", "name", "message"),
    [
        ("secretsmanager", "shop/db", "version 00000000 of `${secretsmanager:shop/db}`"),
        ("ssm", "/shop/key", "version 9 of `${ssm:/shop/key}`"),
    ],
)
def test_a_version_that_no_longer_exists_is_an_error(
    server: Moto, kind: str, name: str, message: str
) -> None:
    version = "9" if kind == "ssm" else "00000000-0000-4000-8000-000000000000"
    with pytest.raises(FabricError) as raised:
        values_of(server, SecretPin(LookupKind(kind), name, version))
    assert raised.value.first.code == "config/unresolved-reference"
    assert raised.value.first.message.startswith(message)


def test_the_output_of_a_stack_and_the_account_are_read(server: Moto, tmp_path: Path) -> None:
    reader = lookups(server, tmp_path)
    output = reader.read(LookupKind.CFN, "data.TopicArn", _PLACE)
    account = reader.read(LookupKind.AWS, "accountId", _PLACE)
    assert output is not None
    assert account is not None
    assert output.text == f"arn:aws:sns:eu-central-1:{account.text}:orders"


def test_a_stack_of_another_region_is_read_there(server: Moto, tmp_path: Path) -> None:
    template = json.dumps({**_TEMPLATE, "Outputs": {"Name": {"Value": "certificates"}}})
    there = client(server, "cloudformation", "us-east-1")
    there.create_stack(StackName="data", TemplateBody=template)
    reader = lookups(server, tmp_path)
    names = ("us-east-1:data.Name", "data.Name", "us-east-1:data.None")
    place = LookupPlace(names=tuple(NamedLookup(LookupKind.CFN, one) for one in names))
    found = [reader.read(LookupKind.CFN, one, place) for one in names]
    assert found == [LookupValue("certificates"), LookupValue("orders"), None]


def test_parameters_are_read_ten_at_a_time(server: Moto, tmp_path: Path) -> None:
    names = tuple(NamedLookup(LookupKind.SSM, f"/shop/{number}") for number in range(12))
    reader = lookups(server, tmp_path)
    reader.read(LookupKind.SSM, "/shop/0", LookupPlace(names=names))
    # All are known now, without the server.
    assert reader.read(LookupKind.SSM, "/shop/11", _PLACE) == LookupValue("value 11")


def test_a_binary_secret_is_not_text(server: Moto) -> None:
    made = client(server, "secretsmanager").create_secret(Name="shop/file", SecretBinary=b"binary")
    pin = SecretPin(LookupKind.SECRETS_MANAGER, "shop/file", made["VersionId"])
    with pytest.raises(FabricError, match="contains binary data") as raised:
        values_of(server, pin)
    assert raised.value.first.code == "config/unresolved-reference"


def test_a_deleted_secret_is_an_error(server: Moto, tmp_path: Path) -> None:
    secrets = client(server, "secretsmanager")
    secrets.create_secret(Name="shop/old", SecretString="old")
    secrets.delete_secret(SecretId="shop/old")
    with pytest.raises(FabricError, match="scheduled for deletion"):
        lookups(server, tmp_path).read(LookupKind.SECRETS_MANAGER, "shop/old", _PLACE)


class _Refusing(BaseHTTPRequestHandler):
    """Systems Manager that refuses calls with the parameter `/shop/closed`."""

    def do_POST(self) -> None:  # noqa: N802
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))["Names"]
        is_refused = "/shop/closed" in asked
        rows = [{"Name": name, "Value": f"value of {name}", "Type": "String"} for name in asked]
        answer: dict[str, Any] = (
            {"__type": "AccessDeniedException"} if is_refused else {"Parameters": rows}
        )
        answer_json(self, 400 if is_refused else 200, answer)

    def log_message(self, *_: object) -> None:
        """Print nothing."""


def answer_json(handler: BaseHTTPRequestHandler, status: int, answer: Mapping[str, Any]) -> None:
    body = json.dumps(answer).encode()
    handler.send_response(status)
    handler.send_header("content-type", "application/x-amz-json-1.1")
    handler.send_header("content-length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


@contextmanager
def served(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture
def refusing() -> Iterator[str]:
    with served(_Refusing) as address:
        yield address


class _Together(BaseHTTPRequestHandler):
    """Secrets that are answered as soon as three callers wait for one."""

    three: ClassVar = Barrier(3, timeout=20)

    def do_POST(self) -> None:  # noqa: N802
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))["SecretId"]
        self.three.wait()
        versions = {f"version-{asked}": ["AWSCURRENT"]}
        answer_json(self, 200, {"VersionIdsToStages": versions})

    def log_message(self, *_: object) -> None:
        """Print nothing."""


def test_secrets_are_read_side_by_side(tmp_path: Path) -> None:
    with served(_Together) as address:
        reader = AwsLookups({**_ENV, "AWS_ENDPOINT_URL": address}, tmp_path)
        kind = LookupKind.SECRETS_MANAGER
        place = LookupPlace(names=tuple(NamedLookup(kind, name) for name in "abc"))
        pin = SecretPin(kind, "b", "version-b")
        assert reader.read(kind, "b", place) == LookupValue("", is_secret=True, pin=pin)


def test_a_refused_batch_names_the_refused_parameter_only(refusing: str, tmp_path: Path) -> None:
    reader = AwsLookups({**_ENV, "AWS_ENDPOINT_URL": refusing}, tmp_path)
    names = ("/shop/a", "/shop/closed", "/shop/b")
    place = LookupPlace(names=tuple(NamedLookup(LookupKind.SSM, name) for name in names))
    for name in ("/shop/a", "/shop/b"):
        assert reader.read(LookupKind.SSM, name, place) == LookupValue(f"value of {name}")
    with pytest.raises(FabricError, match=r"cannot read `\$\{ssm:/shop/closed\}`") as raised:
        reader.read(LookupKind.SSM, "/shop/closed", place)
    assert raised.value.first.code == "credentials/refused"


def test_an_endpoint_of_a_checkout_gets_no_credentials_of_the_shell(
    server: Moto, tmp_path: Path
) -> None:
    text = (
        "service: s\nprovider: {name: cloud1-lambda, runtime: python3.11, region: eu-central-1}\n"
        "functions: [{name: f, entry: f.py}]\nenv: {A: '${ssm:/shop/1}'}\n"
    )
    made = project(tmp_path, text, {"f.py": handler("f")})
    made.write({".env": "AWS_ENDPOINT_URL=http://other-host.invalid\n"})
    shell = {**_ENV, "CLOUD1_API_BASE_URL": server.endpoint, "FABRIC_LOOKUPS": "1"}
    assert made.json("plan", env=shell).code == 0
    made.write({".env": "FABRIC_LOOKUPS=1\nFABRIC_CLOUD1_LAMBDA_DEPLOY_COMMAND=true\n"})
    assert "config/unread-reference" in made.fabric("plan", env=_ENV).err


def test_a_state_in_the_project_is_read(server: Moto, tmp_path: Path) -> None:
    (tmp_path / "infra.tfstate").write_text(json.dumps(_STATE))
    reader = lookups(server, tmp_path)
    assert reader.read(LookupKind.TF, "infra.tfstate#table", _PLACE) == LookupValue("orders")


@pytest.mark.parametrize("content", ["{", "[]", '{"version": 3}'])
def test_another_file_is_no_state(server: Moto, tmp_path: Path, content: str) -> None:
    (tmp_path / "infra.tfstate").write_text(content)
    with pytest.raises(FabricError) as raised:
        lookups(server, tmp_path).read(LookupKind.TF, "infra.tfstate#table", _PLACE)
    assert raised.value.first.code == "config/unresolved-reference"


def test_an_unreachable_service_is_named(tmp_path: Path) -> None:
    reader = AwsLookups({**_ENV, "AWS_ENDPOINT_URL": "http://127.0.0.1:1"}, tmp_path)
    with pytest.raises(FabricError, match=r"cannot read `\$\{ssm:/shop/1\}`") as raised:
        reader.read(LookupKind.SSM, "/shop/1", _PLACE)
    assert raised.value.first.code == "provider/unreachable"
    assert raised.value.exit_code == 69
