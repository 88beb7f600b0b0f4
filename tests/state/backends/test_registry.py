"""From settings and environment to a store: what is refused before anything is reached."""

import sqlite3
import stat
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from fabric.model.backends import BackendKind
from fabric.model.problems import FabricError, Problem
from fabric.state.backends.objstore3 import read_objstore3_account
from fabric.state.backends.registry import open_backend

KEY = "api/dev/cloud1-lambda.state.json"
OWN = Path("/nowhere/.fabric")


def refusal(kind: BackendKind, settings: Mapping[str, str], env: Mapping[str, str]) -> Problem:
    with pytest.raises(FabricError) as caught:
        open_backend(kind, settings, env, OWN)
    return caught.value.first


def permissions(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize(
    ("kind", "settings", "env", "names"),
    [
        (BackendKind.OBJSTORE2, {"objstore2Bucket": "b"}, {}, "OBJSTORE2_ACCESS_TOKEN"),
        (
            BackendKind.OBJSTORE2,
            {"objstore2Bucket": "b"},
            {"OBJSTORE2_CREDENTIALS_FILE": "/nowhere/key.json"},
            "OBJSTORE2_CREDENTIALS_FILE",
        ),
        (BackendKind.OBJSTORE3, {"objstore3Container": "c"}, {}, "OBJSTORE3_KEY"),
        (
            BackendKind.OBJSTORE3,
            {"objstore3Container": "c"},
            {"OBJSTORE3_ACCOUNT": "a", "OBJSTORE3_KEY": "not base64!"},
            "OBJSTORE3_KEY",
        ),
        (
            BackendKind.OBJSTORE1,
            {"objstore1Bucket": "b"},
            {"CLOUD1_ACCESS_KEY_ID": "half"},
            "CLOUD1_SECRET_ACCESS_KEY",
        ),
    ],
)
def test_missing_credentials_are_named(
    kind: BackendKind, settings: dict[str, str], env: dict[str, str], names: str
) -> None:
    problem = refusal(kind, settings, env)
    assert problem.code == "credentials/missing"
    assert names in problem.hint


@pytest.mark.parametrize(
    "url",
    [
        "mysql://u:hush@h/db",
        "postgresql://u:hush@h:port:port/db?nonsense",
        "sqlite:///",
        "sqlite://hush/file",
        "sqlite:///:memory:",
        "hush",
    ],
)
def test_a_url_that_names_no_database_is_refused_and_not_shown(url: str) -> None:
    problem = refusal(BackendKind.SQL, {}, {"FABRIC_STATE_SQL_URL": url})
    assert problem.code == "backend/bad-url"
    assert "FABRIC_STATE_SQL_URL" in problem.message
    assert "hush" not in f"{problem}"


@pytest.mark.parametrize("url", ["ftp://host", "host:80", "https://u:hush@host"])
@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        (BackendKind.OBJSTORE1, {"objstore1Bucket": "b"}),
        (BackendKind.OBJSTORE2, {"objstore2Bucket": "b"}),
        (BackendKind.OBJSTORE3, {"objstore3Container": "b"}),
    ],
)
def test_an_endpoint_has_to_be_a_plain_web_address(
    kind: BackendKind, settings: dict[str, str], url: str
) -> None:
    name = f"{kind.upper()}_ENDPOINT_URL"
    env = {"OBJSTORE2_ACCESS_TOKEN": "t", "OBJSTORE3_ACCOUNT": "a", "OBJSTORE3_KEY": "a2V5"}
    problem = refusal(kind, settings, {**env, name: url})
    assert problem.code == "backend/bad-url"
    assert name in problem.message
    assert "hush" not in f"{problem}"


@pytest.mark.parametrize("table", ["x; drop table y", 'x"y', "1x", "a" * 64, "ä", "x\n"])
def test_a_hostile_table_name_is_refused(table: str) -> None:
    assert refusal(BackendKind.SQL, {"sqlTable": table}, {}).code == "config/bad-table"


@pytest.mark.parametrize(
    ("kind", "settings", "env", "package"),
    [
        (BackendKind.SQL, {}, {"FABRIC_STATE_SQL_URL": "postgres://h/d"}, "psycopg"),
        (BackendKind.OBJSTORE1, {"objstore1Bucket": "b"}, {}, "boto3"),
        (
            BackendKind.OBJSTORE2,
            {"objstore2Bucket": "b"},
            {"OBJSTORE2_ACCESS_TOKEN": "t"},
            "httpx",
        ),
    ],
)
def test_a_package_that_is_not_installed_is_named_with_its_extra(
    kind: BackendKind,
    settings: dict[str, str],
    env: dict[str, str],
    package: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in [one for one in sys.modules if one.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    problem = refusal(kind, settings, env)
    assert problem.code == "backend/not-installed"
    assert package in problem.message
    assert "pip install 'serverless-fabric[" in problem.hint


def test_a_bucket_has_to_be_named() -> None:
    assert refusal(BackendKind.OBJSTORE1, {}, {}).code == "config/backend-incomplete"


def test_the_embedded_database_is_made_by_the_first_write_for_its_owner_only(
    tmp_path: Path,
) -> None:
    home = tmp_path / ".fabric"
    backend = open_backend(BackendKind.SQL, {}, {}, home).state
    assert backend.read(KEY) is None
    assert not home.exists()
    backend.write(KEY, b"one", None)
    backend.close()
    assert permissions(home / "state.db") == 0o600
    assert permissions(home) == 0o700


@pytest.mark.parametrize(
    ("url", "file"),
    [("sqlite:///own%20state.db", "own state.db"), ("sqlite:////{tmp}/deep/x.db", "deep/x.db")],
)
def test_sqlite_url_is_relative_to_the_project_or_absolute(
    url: str, file: str, tmp_path: Path
) -> None:
    env = {"OWN_URL": url.replace("/{tmp}", str(tmp_path))}
    settings = {"sqlConnectionStringEnv": "OWN_URL", "sqlTable": "Mixed_Case"}
    backend = open_backend(BackendKind.SQL, settings, env, tmp_path / ".fabric").state
    backend.write(KEY, b"one", None)
    backend.close()
    reader = sqlite3.connect(tmp_path / file)
    assert reader.execute("SELECT key FROM Mixed_Case").fetchall() == [(KEY,)]
    reader.close()


def test_invalid_sqlite_file_is_reported(tmp_path: Path) -> None:
    (tmp_path / "state.db").write_bytes(b"something else" * 100)
    backend = open_backend(BackendKind.SQL, {}, {}, tmp_path).state
    with pytest.raises(FabricError, match="not a SQLite database") as caught:
        backend.read(KEY)
    assert caught.value.first.code == "backend/unreachable"
    backend.close()


def test_foreign_table_is_not_modified(tmp_path: Path) -> None:
    other = sqlite3.connect(tmp_path / "state.db")
    other.execute("CREATE TABLE fabric_state (key TEXT, version INTEGER, content TEXT)")
    other.execute("INSERT INTO fabric_state VALUES (?, 1, 'theirs')", (KEY,))
    other.commit()
    other.close()
    backend = open_backend(BackendKind.SQL, {}, {}, tmp_path).state
    for call in (lambda: backend.read(KEY), lambda: backend.write(KEY, b"one", None)):
        with pytest.raises(FabricError) as caught:
            call()
        assert caught.value.first.code == "backend/failed"
    backend.close()


@pytest.mark.parametrize(
    "text",
    [
        "no JSON: hush",
        "[]",
        '{"type": "authorized_user", "refresh_token": "hush"}',
        '{"client_email": "a@b", "private_key": "hush", "token_uri": "https://t"}',
    ],
)
def test_invalid_service_account_file_is_refused_without_quoting_it(
    text: str, tmp_path: Path
) -> None:
    file = tmp_path / "key.json"
    file.write_text(text)
    env = {"OBJSTORE2_CREDENTIALS_FILE": str(file)}
    problem = refusal(BackendKind.OBJSTORE2, {"objstore2Bucket": "b"}, env)
    assert problem.code == "credentials/missing"
    assert str(file) in problem.message
    assert "hush" not in f"{problem}"


def test_a_connection_string_names_account_key_and_endpoint() -> None:
    text = "DefaultEndpointsProtocol=https;AccountName=acc;AccountKey=a2V5PT0=;EndpointSuffix=x.y"
    found = read_objstore3_account({"OBJSTORE3_CONNECTION_STRING": text})
    assert (found.name, found.key.reveal()) == ("acc", b"key==")
    assert found.endpoint == "https://acc.blob.x.y"
    assert "key==" not in repr(found)


def test_locks_are_stored_with_the_state_unless_a_table_is_configured(tmp_path: Path) -> None:
    keys = {"CLOUD1_ACCESS_KEY_ID": "k", "CLOUD1_SECRET_ACCESS_KEY": "s"}
    plain = open_backend(BackendKind.OBJSTORE1, {"objstore1Bucket": "b"}, keys, tmp_path)
    assert plain.locks is plain.state
    settings = {"objstore1Bucket": "b", "lockTable": "locks"}
    apart = open_backend(BackendKind.OBJSTORE1, settings, keys, tmp_path)
    assert "locks" in apart.locks.place
    assert apart.locks is not apart.state
    plain.close()
    apart.close()
