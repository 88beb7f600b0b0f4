"""The tests' own server of cloud2 is as strict as the description of the interfaces."""

import json
from typing import Any

import pytest

from tests.support.servers.cloud2.client import Cloud2Server

_PLACE = "/v2/projects/{}/locations/europe-west1"


def asked(cloud2: Cloud2Server, method: str, path: str, document: Any = None) -> tuple[int, str]:
    body = None if document is None else json.dumps(document).encode()
    headers = {"Authorization": f"Bearer {cloud2.project.token}"}
    url = cloud2.project.endpoint + path.replace("{}", cloud2.project.id)
    answer = cloud2.http(method, url, body, headers)
    error = json.loads(answer.content).get("error", {})
    return answer.status, f"{error.get('status', '')} {error.get('message', '')}"


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({"colour": "red"}, "body: unknown field colour"),
        ({"state": "ACTIVE"}, "body.state is output only"),
        ({"buildConfig": []}, "body.buildConfig must be an object"),
        ({"serviceConfig": {"timeoutSeconds": "9"}}, "must be a integer"),
        ({"environment": "GEN_3"}, "'GEN_3' is none of"),
        ({"buildConfig": {"runtime": "ruby33"}}, "ruby33 is not a supported runtime"),
        (
            {"buildConfig": {"runtime": "nodejs22", "entryPoint": "x"}},
            "Source object was not uploaded",
        ),
        (
            {
                "buildConfig": {"runtime": "nodejs22", "entryPoint": "x"},
                "labels": {"Team": "shop"},
            },
            "label Team=shop is not valid",
        ),
    ],
)
def test_a_function_that_is_not_as_described_is_refused(
    cloud2: Cloud2Server, document: dict[str, Any], words: str
) -> None:
    path = f"{_PLACE}/functions?functionId=hello"
    status, said = asked(cloud2, "POST", path, document)
    assert (status, words in said) == (400, True), said


def test_a_parameter_that_is_not_described_is_refused(cloud2: Cloud2Server) -> None:
    status, said = asked(cloud2, "GET", f"{_PLACE}/functions?colour=red")
    assert (status, said) == (400, "INVALID_ARGUMENT query parameter colour is not known")
    status, said = asked(cloud2, "POST", f"{_PLACE}/functions", {})
    assert (status, said.partition(" must")[0]) == (400, "INVALID_ARGUMENT function id")


def test_unimplemented_method_returns_501(cloud2: Cloud2Server) -> None:
    status, said = asked(cloud2, "GET", f"{_PLACE}/runtimes")
    assert (status, said.split()[0]) == (501, "UNIMPLEMENTED")
    assert asked(cloud2, "GET", "/v3/elsewhere")[0] == 404


def test_request_without_the_project_token_is_refused(cloud2: Cloud2Server) -> None:
    url = cloud2.project.endpoint + _PLACE.replace("{}", cloud2.project.id) + "/functions"
    assert cloud2.http("GET", url).status == 401
    assert cloud2.http("GET", url, headers={"Authorization": "Bearer tok"}).status == 401


def test_upload_refuses_a_token_and_other_content_types(cloud2: Cloud2Server) -> None:
    place = _PLACE.replace("{}", cloud2.project.id)
    given = cloud2.api("POST", f"{place}/functions:generateUploadUrl", {})
    kind = {"Content-Type": "application/zip"}
    url = given["uploadUrl"]
    assert cloud2.http("PUT", url, b"x", {"Content-Type": "text/plain"}).status == 403
    assert cloud2.http("PUT", url, b"x", {**kind, "Authorization": "Bearer x"}).status == 403
    assert cloud2.http("PUT", url, b"x", kind).status == 200
