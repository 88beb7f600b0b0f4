"""A REST API at a strict cloud1: where it answers there, and what is there of it."""

from typing import Any

from tests.support.cloud1_site import Cloud1Site
from tests.support.servers.strict_cloud1.client import HttpAnswer, StrictCloud1

POOL = "arn:aws:cognito-idp:us-east-1:123456789012:userpool/us-east-1_abc"
CHECK = """export const handler = async (event) => {
  console.log("given " + JSON.stringify(event));
  const text = event.authorizationToken ?? event.headers?.["Authorization"];
  const statement = { Effect: text === "open" ? "Allow" : "Deny", Action: "*", Resource: "*" };
  return {
    principalId: "me",
    policyDocument: { Version: "2012-10-17", Statement: [statement] },
    context: { who: "me" },
  };
};
"""
ECHO = """export const handler = async (event) => ({
  statusCode: 200,
  headers: { "content-type": "application/json" },
  body: JSON.stringify(event),
});
"""


def at_server(cloud1: StrictCloud1, url: str) -> str:
    """The address at the server of an address at AWS."""
    host, _, path = url.removeprefix("https://").partition("/")
    return f"{cloud1.endpoint}/_api/{host.partition('.')[0]}/{path}"


def asked(
    site: Cloud1Site,
    path: str,
    method: str = "GET",
    body: bytes | None = None,
    **headers: str,
) -> HttpAnswer:
    assert site.record is not None
    url = at_server(site.cloud1, site.record.endpoint) + path
    names = {name.replace("_", "-"): text for name, text in headers.items()}
    return site.cloud1.http(method, url, body, names)


def status(site: Cloud1Site, path: str, method: str = "GET", **headers: str) -> int:
    return asked(site, path, method, None, **headers).status


def rest_api(site: Cloud1Site) -> Any:
    (found,) = site.cloud1.client("apigateway").get_rest_apis()["items"]
    return found


def stage(site: Cloud1Site) -> Any:
    client = site.cloud1.client("apigateway")
    return client.get_stage(restApiId=rest_api(site)["id"], stageName="dev")


def deployments(site: Cloud1Site) -> list[str]:
    client = site.cloud1.client("apigateway")
    rows = client.get_deployments(restApiId=rest_api(site)["id"])["items"]
    return [one["id"] for one in rows]


def key_value(site: Cloud1Site, name: str) -> str:
    client = site.cloud1.client("apigateway")
    (row,) = client.get_api_keys(nameQuery=name, includeValues=True)["items"]
    return str(row["value"])


def rest_calls(cloud1: StrictCloud1) -> dict[str, int]:
    return {name: count for name, count in cloud1.calls().items() if name.startswith("apigateway")}
