"""The server that stands for cloud4: what it refuses, so that no test passes by its leave."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from fabric.model.secrets.secret import Secret
from fabric.providers.cloud4.client import (
    AccessKey,
    Cloud4Api,
    Cloud4Call,
    SignedMoment,
    build_cloud4_call,
    build_signed_headers,
    sign_headers,
)
from fabric.providers.core.errors import RefusedCallError
from fabric.system.clock import SystemClock
from fabric.system.retry import TransientError
from tests.support.cloud4_site import Cloud4Site
from tests.support.orders import HTTP
from tests.support.servers.cloud4.client import Cloud4Server
from tests.support.service_site import EVERY_HOUR

pytestmark = pytest.mark.slow

_NAME = "shop-dev-hello"


@pytest.fixture
def site(cloud4: Cloud4Server, tmp_path: Path) -> Iterator[Cloud4Site]:
    made = Cloud4Site(cloud4, tmp_path)
    made.up(made.order("hello", HTTP, EVERY_HOUR))
    yield made
    made.close()


@pytest.fixture
def api(cloud4: Cloud4Server) -> Iterator[Cloud4Api]:
    account = cloud4.account
    made = Cloud4Api(account.endpoint, AccessKey(account.key, Secret(account.secret)))
    yield made
    made.close()


def refused(api: Cloud4Api, call: Cloud4Call) -> str:
    with pytest.raises(RefusedCallError) as raised:
        api.once(call, object)
    return raised.value.words


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({"madeUp": 1}, "'madeUp' was unexpected"),
        ({"memorySize": "512"}, "'512' is not of type 'number'"),
        ({"memorySize": 500}, "memorySize 500"),
        ({"cpu": 0.33}, "cpu 0.33"),
        ({"cpu": 4}, "does not go with 512 MB"),
        ({"diskSize": 600}, "diskSize"),
        ({"runtime": "nodejs22"}, "runtime 'nodejs22' is not supported"),
        ({"code": {"zipFile": "AAAA"}}, "no ZIP in Base64"),
        ({"description": "x" * 257}, "longer than 256"),
        ({"environmentVariables": {"A": "x" * 4096}}, "4 KB"),
        ({"environmentVariables": {"FC_A": "x"}}, "reserved name"),
    ],
)
def test_invalid_function_property_is_refused(
    site: Cloud4Site, api: Cloud4Api, document: dict[str, Any], words: str
) -> None:
    assert words in refused(api, build_cloud4_call("UpdateFunction", "PUT", (_NAME,), document))
    assert site.said() == "one"


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (Cloud4Call("DeleteFunction", "DELETE", (_NAME,)), "FunctionNotEmpty"),
        (Cloud4Call("DeleteAlias", "DELETE", (_NAME, "aliases", "live")), "is used by"),
        (Cloud4Call("DeleteFunctionVersion", "DELETE", (_NAME, "versions", "1")), "is used by"),
        (Cloud4Call("GetFunction", "GET", (_NAME,), (("madeUp", "1"),)), "madeUp is not known"),
        (Cloud4Call("GetFunction", "GET", (_NAME,), (("qualifier", "9"),)), "VersionNotFound"),
        (Cloud4Call("GetAlias", "GET", (_NAME,)), "x-acs-action is GetAlias, not GetFunction"),
        (Cloud4Call("GetFunction", "GET", (_NAME, "more")), "PathNotSupported"),
        (
            build_cloud4_call("UpdateAlias", "PUT", (_NAME, "aliases", "live"), {"versionId": "9"}),
            "'9'",
        ),
        (
            build_cloud4_call(
                "CreateTrigger",
                "POST",
                (_NAME, "triggers"),
                {
                    "triggerName": "t",
                    "triggerType": "timer",
                    "triggerConfig": '{"cronExpression": "* * * * *", "enable": true}',
                },
            ),
            "cronExpression '* * * * *' is none",
        ),
    ],
)
def test_invalid_or_inconsistent_call_is_refused(
    site: Cloud4Site, api: Cloud4Api, call: Cloud4Call, words: str
) -> None:
    assert words in refused(api, call)
    assert site.said() == "one"


def test_creating_an_existing_alias_is_a_conflict(site: Cloud4Site, api: Cloud4Api) -> None:
    document = {"aliasName": "live", "versionId": "1"}
    with pytest.raises(TransientError, match="AliasAlreadyExists"):
        api.once(build_cloud4_call("CreateAlias", "POST", (_NAME, "aliases"), document), object)
    assert site.said() == "one"


@pytest.mark.parametrize("part", ["path", "body", "query", "x-acs-date", "x-acs-action"])
def test_a_call_that_was_changed_on_its_way_is_refused(cloud4: Cloud4Server, part: str) -> None:
    account = cloud4.account
    key = AccessKey(account.key, Secret(account.secret))
    moment = SignedMoment("2026-01-01T00:00:00Z", "n")
    if part != "x-acs-date":
        moment = replace(moment, time=_now())
    call = Cloud4Call("ListFunctions", "GET", query=(("limit", "1"),)).sent
    signed = replace(call, content=b"{}" if part == "body" else b"")
    url = account.endpoint + signed.path
    host = url.split("/")[2]
    headers = build_signed_headers(signed, host, "ListFunctions", moment)
    headers["authorization"] = sign_headers(key, "GET", url, headers).reveal()
    if part == "x-acs-action":
        headers[part] = "GetFunction"
    url = url.replace("limit=1", "limit=2") if part == "query" else url
    url = url.replace("functions", "layers") if part == "path" else url
    body = b'{"a": 1}' if part == "body" else None
    answer = cloud4.http("GET", url, body, headers)
    assert answer.status in (400, 403)
    assert answer.json["Code"] in {
        "SignatureDoesNotMatch",
        "InvalidContentSha256",
        "InvalidTimeStamp.Expired",
    }


def _now() -> str:
    return SystemClock().now().strftime("%Y-%m-%dT%H:%M:%SZ")


def test_a_call_that_is_sent_twice_is_carried_out_once(cloud4: Cloud4Server) -> None:
    account = cloud4.account
    key = AccessKey(account.key, Secret(account.secret))
    call = Cloud4Call("ListFunctions", "GET").sent
    url = account.endpoint + call.path
    headers = build_signed_headers(
        call, url.split("/")[2], "ListFunctions", SignedMoment(_now(), "n")
    )
    headers["authorization"] = sign_headers(key, "GET", url, headers).reveal()
    first, second = (cloud4.http("GET", url, headers=headers) for _ in range(2))
    assert (first.status, second.json["Code"]) == (200, "SignatureNonceUsed")
