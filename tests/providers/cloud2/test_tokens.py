"""Who a service account's key says we are, and what is told of a key that is none."""

import json
import subprocess
from pathlib import Path

import pytest

from fabric.model.problems import ExitCode, FabricError
from tests.support.cloud2_site import Cloud2Site
from tests.support.orders import HTTP

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def pem(tmp_path_factory: pytest.TempPathFactory) -> str:
    file = tmp_path_factory.mktemp("key") / "key.pem"
    argv = ["openssl", "genpkey", "-algorithm", "RSA", "-out", str(file)]
    subprocess.run(argv, check=True, capture_output=True)
    return file.read_text()


def key_of(site: Cloud2Site, pem: str, **other: str) -> str:
    project = site.cloud2.project
    words = {
        "type": "service_account",
        "client_email": project.account,
        "private_key": pem,
        "private_key_id": "k1",
        "token_uri": f"{project.endpoint}/token/{project.id}",
        **other,
    }
    return json.dumps(words)


def refused(site: Cloud2Site, said: str) -> FabricError:
    site.env = {"CLOUD2_ACCESS_TOKEN": "", "CLOUD2_SERVICE_ACCOUNT_KEY": said}
    with pytest.raises(FabricError) as raised:
        site.up(site.order("hello", HTTP))
    assert raised.value.exit_code is ExitCode.NO_CREDENTIALS
    return raised.value


@pytest.mark.parametrize("is_file", [True, False])
def test_a_key_asks_for_one_token(
    site: Cloud2Site, pem: str, tmp_path: Path, *, is_file: bool
) -> None:
    said = key_of(site, pem)
    if is_file:
        (tmp_path / "account.json").write_text(said)
        said = "account.json"
    site.env = {"CLOUD2_ACCESS_TOKEN": "", "CLOUD2_SERVICE_ACCOUNT_KEY": said}
    site.up(*site.both())
    assert (site.said(), site.said("/bye")) == ("one", "bye")
    asked = [path for _, path, _ in site.cloud2.calls() if path.startswith("/token/")]
    assert len(asked) == 1
    assert site.deployer.identity(site.address()).startswith(site.cloud2.project.account)


def test_a_key_that_is_not_known_is_refused_with_its_account(site: Cloud2Site, pem: str) -> None:
    error = refused(site, key_of(site, pem, client_email="other@p.iam.gserviceaccount.com"))
    assert error.first.code == "credentials/refused"
    assert "returned no token for `other@p.iam.gserviceaccount.com`" in error.first.message


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ("nowhere.json", "cannot read the file"),
        ("{", "not a service account key"),
        ('{"client_email": "a@b.c"}', "not a service account key"),
    ],
)
def test_invalid_key_is_reported_before_any_call(site: Cloud2Site, said: str, message: str) -> None:
    error = refused(site, said)
    assert error.first.code == "credentials/unreadable"
    assert message in error.first.message
    assert site.cloud2.calls() == []


def test_a_damaged_key_does_not_show_itself(site: Cloud2Site) -> None:
    error = refused(site, key_of(site, "-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n"))
    assert "the private key is damaged" in error.first.message
    assert "c2VjcmV0" not in repr(error.problems)


def test_token_is_never_sent_over_plain_http(site: Cloud2Site, pem: str) -> None:
    error = refused(site, key_of(site, pem, token_uri="http://token.example.com/"))  # noqa: S106
    assert error.first.code == "credentials/plain-endpoint"
    site.env = {"CLOUD2_API_BASE_URL": "http://cloud.example.com"}
    with pytest.raises(FabricError) as raised:
        site.up(site.order("hello", HTTP))
    assert "`CLOUD2_API_BASE_URL` uses plain HTTP" in raised.value.first.message
