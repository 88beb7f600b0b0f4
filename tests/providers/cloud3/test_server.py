"""The test server refuses what Azure refuses, and a real storage server accepts the calls of
deploys."""

import base64
from http import HTTPStatus
from pathlib import Path
from typing import Any

import httpx
import pytest

from fabric.model.secrets.secret import Secret
from fabric.providers.cloud3.blobs import PackageRow, StorageCalls
from fabric.providers.cloud3.client import (
    Cloud3Account,
    Cloud3Api,
    Cloud3Settings,
    Cloud3Work,
)
from fabric.providers.cloud3.tokens import Cloud3Identity
from fabric.providers.core.contract import NO_CONTEXT
from fabric.providers.core.work import CallScope
from tests.support.orders import address
from tests.support.servers.azurite import azurite
from tests.support.servers.cloud3.described import Description

_SITES = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Web/sites/shop"
_GOOD: dict[str, Any] = {
    "location": "westeurope",
    "tags": {"fabric-stage": "prod"},
    "properties": {
        "serverFarmId": "plan",
        "functionAppConfig": {
            "deployment": {},
            "runtime": {"name": "node", "version": "22"},
            "scaleAndConcurrency": {"instanceMemoryMB": 2048},
        },
    },
}


def problems(method: str, path: str, document: object) -> list[str]:
    description = Description()
    asked = description.find(method, path)
    assert asked is not None
    return list(description.problems(asked, document))


def test_a_site_as_fabric_writes_it_is_accepted() -> None:
    assert problems("PUT", _SITES.replace("resourceGroups", "RESOURCEGROUPS"), _GOOD) == []


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        ("tagz", {}, "Site.tagz is unknown"),
        ("properties.state", "Running", "Site.properties.state is read-only"),
        ("properties.functionAppConfig.runtime.name", "nodejs", "must be one of"),
        ("properties.functionAppConfig.runtime.version", 22, "must be str"),
        ("properties.functionAppConfig.scaleAndConcurrency", {"instanceMemoryMb": 1}, "is unknown"),
        ("properties.siteConfig", {"appSettings": {}}, "must be a list"),
        ("location", None, "Site.location must be str"),
    ],
)
def test_other_fields_and_values_are_refused(path: str, value: object, words: str) -> None:
    *parts, last = path.split(".")
    document = _copied(_GOOD)
    inner = document
    for part in parts:
        inner = inner[part]
    inner[last] = value
    assert any(words in one for one in problems("PUT", _SITES, document))


def _copied(value: dict[str, Any]) -> dict[str, Any]:
    return {key: _copied(one) if isinstance(one, dict) else one for key, one in value.items()}


def test_a_patch_takes_neither_tags_nor_settings_of_instances() -> None:
    document: dict[str, Any] = {"tags": {}, "properties": {"functionAppConfig": {}}}
    assert len(problems("PATCH", _SITES, document)) == 2


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_a_real_storage_server_accepts_the_calls_of_deploys(tmp_path: Path) -> None:
    with azurite(tmp_path) as server:
        form = server.endpoint.removesuffix(server.name) + "{account}"
        identity = Cloud3Identity(tenant="t", client="c")
        account = Cloud3Account(identity=identity, subscription="s", group="g", storage=form)
        api = Cloud3Api(account)
        api.find_storage_key(server.name, lambda: Secret(base64.b64decode(server.key)))
        scope = CallScope(address("cloud3-functions"), NO_CONTEXT, str)
        settings = Cloud3Settings(storage_account=server.name)
        storage = StorageCalls(Cloud3Work(api=api, scope=scope, own=settings), server.name)
        for _ in range(2):
            storage.make_container(storage.containers[0])
        for number, ident in enumerate(("b", "a")):
            row = PackageRow(ident=ident, parts="12345678", config='{"a":"b, c"}', at=number)
            storage.put_package(row, ident.encode())
            storage.put_package(row, b"other")
        assert [one.ident for one in storage.list_packages()] == ["b", "a"]
        assert storage.list_packages()[0].config == '{"a":"b, c"}'
        assert storage.fetch_package("b") == b"b"
        signed = storage.sign_package("a")
        assert httpx.get(signed).content == b"a"
        assert httpx.get(signed.replace("a.zip", "b.zip")).status_code == HTTPStatus.FORBIDDEN
        for _ in range(2):
            storage.delete_package("b")
        assert [one.ident for one in storage.list_packages()] == ["a"]
        assert storage.containers[0] in storage.list_containers()
        for _ in range(2):
            storage.delete_container(storage.containers[0])
        assert storage.list_packages() == []
        api.close()
