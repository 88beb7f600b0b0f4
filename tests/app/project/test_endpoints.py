"""Addresses of a checkout's `.env` get no credentials but those that came along with them."""

from pathlib import Path

import pytest

from fabric.app.project.endpoints import (
    Sources,
    list_foreign_databases,
    list_foreign_endpoints,
    list_plain_endpoints,
)
from fabric.app.project.files import EnvPlace, build_binding_environment, build_client_environment
from fabric.model.problems import FabricError
from fabric.model.secrets.secret import Secret
from fabric.state.backends.objstore3 import read_objstore3_account
from tests.support.project import project
from tests.support.tool import Tool

_URL = "https://objects.example"
_AWS = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"}
_CLOUD1 = {"CLOUD1_ACCESS_KEY_ID": "a", "CLOUD1_SECRET_ACCESS_KEY": "b"}
_OWN_FILE = {"OBJSTORE2_CREDENTIALS_FILE": "keys/account.json"}
_BLOB = f"BlobEndpoint={_URL}"

Words = dict[str, str]
REFUSED: list[tuple[Words, Words]] = [
    ({"OBJSTORE1_ENDPOINT_URL": _URL}, _CLOUD1),
    ({"OBJSTORE1_ENDPOINT_URL": _URL}, {}),  # a profile, a role, metadata
    ({"OBJSTORE1_ENDPOINT_URL": _URL, **_CLOUD1}, {"CLOUD1_SECRET_ACCESS_KEY": "mine"}),
    ({"OBJSTORE1_ENDPOINT_URL": _URL, **_CLOUD1}, {"CLOUD1_SESSION_TOKEN": "mine"}),
    ({"OBJSTORE1_ENDPOINT_URL": _URL, **_AWS}, _CLOUD1),
    ({"AWS_ENDPOINT_URL": _URL}, _AWS),
    ({"AWS_ENDPOINT_URL_S3": _URL}, {}),
    ({"AWS_ENDPOINT_URL_DYNAMODB": _URL, **_AWS}, _CLOUD1),
    ({"AWS_ENDPOINT_URL": _URL, **_CLOUD1}, {}),  # a user's command reads the chain by itself
    ({"OBJSTORE2_ENDPOINT_URL": _URL}, {"OBJSTORE2_ACCESS_TOKEN": "mine"}),
    ({"OBJSTORE2_ENDPOINT_URL": _URL, **_OWN_FILE}, {"OBJSTORE2_ACCESS_TOKEN": "mine"}),
    ({"OBJSTORE2_ENDPOINT_URL": _URL, "OBJSTORE2_CREDENTIALS_FILE": "/home/me/account.json"}, {}),
    ({"OBJSTORE2_ENDPOINT_URL": _URL, "OBJSTORE2_CREDENTIALS_FILE": "../account.json"}, {}),
    ({"OBJSTORE3_ENDPOINT_URL": _URL, "OBJSTORE3_ACCOUNT": "me"}, {"OBJSTORE3_KEY": "mine"}),
    ({"OBJSTORE3_CONNECTION_STRING": _BLOB}, {"OBJSTORE3_KEY": "mine"}),
    (
        {"OBJSTORE3_ENDPOINT_URL": _URL, "OBJSTORE3_KEY": "k"},
        {"OBJSTORE3_CONNECTION_STRING": "AccountName=me;AccountKey=mine"},
    ),
    ({"EDGE1_API_BASE_URL": _URL}, {"EDGE1_API_TOKEN": "mine"}),
    ({"EDGE1_API_BASE_URL": _URL}, {}),
    ({"CLOUD5_API_HOST": "objects.example"}, {"CLOUD5_ACCESS_TOKEN": "mine"}),
    ({"CLOUD3_LOGIN_URL": _URL}, {"CLOUD3_CLIENT_SECRET": "mine"}),
    ({"CLOUD3_MANAGEMENT_URL": _URL}, {"CLOUD3_CLIENT_SECRET": "mine"}),
    ({"CLOUD3_STORAGE_URL": _URL}, {"CLOUD3_CLIENT_SECRET": "mine"}),
    ({"HOST1_SITES_URL": "https://{site}.objects.example"}, {"HOST1_API_TOKEN": "mine"}),
    ({"HOST3_REGISTRY": "objects.example"}, {"HOST3_API_TOKEN": "mine"}),
    ({"CLOUD6_REGION": "objects.example/?"}, {"CLOUD6_API_KEY": "mine"}),
    ({"CLOUD4_REGION": "objects.example:443#"}, {"CLOUD4_ACCESS_KEY_SECRET": "mine"}),
]
TAKEN: list[tuple[Words, Words]] = [
    ({"OBJSTORE1_ENDPOINT_URL": _URL, **_CLOUD1}, {}),
    ({"OBJSTORE1_ENDPOINT_URL": _URL, **_CLOUD1}, _AWS),
    ({"AWS_ENDPOINT_URL": _URL, **_AWS}, {}),
    ({"OBJSTORE2_ENDPOINT_URL": _URL, "OBJSTORE2_ACCESS_TOKEN": "t"}, {}),
    ({"OBJSTORE2_ENDPOINT_URL": _URL, **_OWN_FILE}, {}),
    ({"OBJSTORE3_ENDPOINT_URL": _URL, "OBJSTORE3_ACCOUNT": "me", "OBJSTORE3_KEY": "k"}, {}),
    ({"OBJSTORE3_CONNECTION_STRING": f"AccountName=me;AccountKey=k=;{_BLOB}"}, {}),
    ({"EDGE1_API_BASE_URL": _URL, "EDGE1_API_TOKEN": "t"}, {}),
    ({"CLOUD6_REGION": "us-south"}, {"CLOUD6_API_KEY": "mine"}),
    ({"HOST3_REGISTRY": "objects.example", "HOST3_API_TOKEN": "t"}, {}),
    ({"APP_STORAGE_URL": _URL, "MANAGEMENT_URL": _URL}, {}),
    # What the user says, or what stays on this machine, is nobody else's.
    ({}, {"OBJSTORE1_ENDPOINT_URL": _URL, **_CLOUD1}),
    ({"AWS_ENDPOINT_URL": _URL}, {"AWS_ENDPOINT_URL": "https://mine.example", **_AWS}),
    ({"AWS_ENDPOINT_URL": "http://localhost:4566"}, _AWS),
    ({"OBJSTORE1_ENDPOINT_URL": "http://127.0.0.1:9000"}, _CLOUD1),
]


@pytest.mark.parametrize(("filed", "process"), REFUSED)
def test_credentials_of_the_user_go_to_no_host_of_a_checkout(
    filed: Words, process: Words, tmp_path: Path
) -> None:
    foreign = list_foreign_endpoints(Sources(tmp_path, Secret(filed), Secret(process)))
    assert len(foreign) == 1
    (tmp_path / ".env").write_text("".join(f"{name}='{text}'\n" for name, text in filed.items()))
    place = EnvPlace(tmp_path, tmp_path)
    assert foreign[0] not in build_client_environment(place, process)
    bound = build_binding_environment(place, process)
    assert bound[foreign[0]], "bindings of the config are not concerned"


def test_address_gets_no_credentials_from_another_env_file(tmp_path: Path) -> None:
    (tmp_path / "api").mkdir()
    own, shared = tmp_path / "api" / ".env", tmp_path / ".env"
    place = EnvPlace(tmp_path / "api", tmp_path)
    keys = "CLOUD1_ACCESS_KEY_ID=a\nCLOUD1_SECRET_ACCESS_KEY=b\n"
    for one, other in ((own, shared), (shared, own)):
        one.write_text(f"OBJSTORE1_ENDPOINT_URL={_URL}\n")
        other.write_text(keys)
        assert "OBJSTORE1_ENDPOINT_URL" not in build_client_environment(place, {})
        one.write_text(f"OBJSTORE1_ENDPOINT_URL={_URL}\n{keys}")
        other.write_text("COLOR=blue\n")
        assert build_client_environment(place, {})["OBJSTORE1_ENDPOINT_URL"] == _URL


def test_rejected_address_blocks_all_values_of_the_other_env_file(tmp_path: Path) -> None:
    (tmp_path / "api").mkdir()
    keys = "CLOUD1_ACCESS_KEY_ID=a\nCLOUD1_SECRET_ACCESS_KEY=b\n"
    (tmp_path / ".env").write_text(f"OBJSTORE1_ENDPOINT_URL={_URL}\n{keys}")
    (tmp_path / "api" / ".env").write_text("OBJSTORE1_ENDPOINT_URL=https://other.example\n")
    env = build_client_environment(EnvPlace(tmp_path / "api", tmp_path), {})
    assert "OBJSTORE1_ENDPOINT_URL" not in env


@pytest.mark.parametrize(("filed", "process"), TAKEN)
def test_address_with_its_own_credentials_is_used(
    filed: Words, process: Words, tmp_path: Path
) -> None:
    assert list_foreign_endpoints(Sources(tmp_path, Secret(filed), Secret(process))) == ()


@pytest.mark.parametrize(
    ("url", "is_plain"),
    [
        ("http://objects.example", True),
        ("HTTP://10.0.0.7:9000", True),
        ("https://objects.example", False),
        ("http://127.0.0.1:9000", False),
        ("http://[::1]:9000", False),
        ("http://localhost.example", True),
    ],
)
def test_plain_http_beyond_this_machine_is_named(
    url: str, tmp_path: Path, *, is_plain: bool
) -> None:
    process = {"OBJSTORE1_ENDPOINT_URL": url}
    found = tuple(list_plain_endpoints(Sources(tmp_path, Secret({}), Secret(process))))
    assert found == (("OBJSTORE1_ENDPOINT_URL",) if is_plain else ())


def test_account_name_cannot_redirect_to_another_host() -> None:
    with pytest.raises(FabricError) as caught:
        read_objstore3_account({"OBJSTORE3_ACCOUNT": "evil.example/", "OBJSTORE3_KEY": "a2V5"})
    assert caught.value.first.code == "credentials/missing"


_BUCKET = (
    "service: shop\nprovider: {name: cloud1-lambda, runtime: python3.11}\n"
    "functions: [{name: one, entry: one.py}]\n"
)


def test_a_store_that_a_checkout_names_is_not_opened_with_our_credentials(tmp_path: Path) -> None:
    backend = "backend: {kind: objstore2, objstore2Bucket: b}\n"
    made = project(tmp_path, _BUCKET + backend, {"one.py": "", ".env": ""})
    made.write({".env": f"OBJSTORE2_ENDPOINT_URL={_URL}\n"})
    for words in ("deploy", "state list"):
        done = made.json(*words.split(), env={"OBJSTORE2_ACCESS_TOKEN": "mine"})
        assert (done.code, done.error["code"]) == (77, "credentials/foreign-endpoint"), done.out
        assert "OBJSTORE2_ENDPOINT_URL" in done.error["message"]


def test_a_token_is_not_sent_over_plain_http(tmp_path: Path) -> None:
    backend = "backend: {kind: objstore2, objstore2Bucket: b}\n"
    made = project(tmp_path, _BUCKET + backend, {"one.py": ""})
    env = {"OBJSTORE2_ACCESS_TOKEN": "mine", "OBJSTORE2_ENDPOINT_URL": "http://objects.example"}
    done = made.json("state", "list", env=env)
    assert done.error["code"] == "backend/bad-url"
    assert "uses plain HTTP" in done.error["message"]


def test_deploy_command_receives_no_foreign_address_and_a_warning_is_printed(
    tmp_path: Path,
) -> None:
    made, tool = (
        project(tmp_path, _BUCKET, {"one.py": "def handler(e, c): ..."}),
        Tool(tmp_path / "tool"),
    )
    made.write({".env": f"CLOUD1_API_BASE_URL={_URL}\nCLOUD1_OTHER=told\n"})
    done = made.fabric("deploy", env={**tool.env(), "CLOUD1_ACCESS_KEY_ID": "mine"})
    assert done.code == 0, done.err
    (call,) = tool.calls
    assert call["CLOUD1_OTHER"] == "told"
    assert "CLOUD1_API_BASE_URL" not in call
    assert "CLOUD1_API_BASE_URL" in done.err


_OWN_PASSWORD = {"PGPASSWORD": "mine"}
FOREIGN_DATABASES = [
    "postgresql://db.example/x",
    "postgresql://127.0.0.1/x?host=db.example",
    "postgresql:///x?hostaddr=198.51.100.7",
    "postgresql://localhost,db.example/x",
    "postgresql://127.0.0.1?x=@db.example/y",
    "postgresql://u@127.0.0.1:5432/x?hostaddr=127.0.0.1",
    "postgresql:///x?service=prod",
    "postgresql://u:p@db.example/x?service=prod",
    "postgresql://db.example/x?password=",
    "postgresql://db.example/x?passfile=/home/me/.pgpass",
]


@pytest.mark.parametrize("url", FOREIGN_DATABASES)
def test_user_password_is_not_sent_to_a_database_configured_by_a_checkout(
    url: str, tmp_path: Path
) -> None:
    sources = Sources(tmp_path, Secret({"STATE_DB": url}), Secret(_OWN_PASSWORD))
    assert list_foreign_databases(sources, "STATE_DB") == ("STATE_DB",)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://u:p@db.example/x",
        "postgresql://db.example/x?user=u&password=p",
        "postgresql://127.0.0.1:5432/x",
        "postgresql:///x?host=/var/run/postgresql",
        "postgres://[::1]/x",
        "sqlite:///x.db",
    ],
)
def test_database_with_its_own_password_or_on_localhost_is_used(url: str, tmp_path: Path) -> None:
    sources = Sources(tmp_path, Secret({"STATE_DB": url}), Secret(_OWN_PASSWORD))
    assert not list_foreign_databases(sources, "STATE_DB")
