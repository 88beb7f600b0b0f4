"""Instances, network and secrets of functions at Google Cloud."""

from typing import Any

import pytest
from msgspec.structs import replace

from tests.support.cloud2_site import Cloud2Site
from tests.support.orders import HTTP

pytestmark = pytest.mark.slow

_NAME = "shop-dev-hello"
_ALL = {
    "maxInstances": 9,
    "concurrency": 80,
    "cpu": 1,
    "vpcConnector": "shop",
    "vpcEgress": "all-traffic",
    "ingress": "internal-and-load-balancer",
    "secrets": {"KEY": {"secret": "key"}, "OLD": {"secret": "key", "version": "1"}},
}


def settings(site: Cloud2Site) -> dict[str, Any]:
    config: dict[str, Any] = dict(site.cloud2.function(_NAME)["serviceConfig"])
    return config


def with_secrets(site: Cloud2Site) -> None:
    place = site.cloud2.project.id
    site.cloud2.project.secrets |= {f"{place}/key/latest": "new", f"{place}/key/1": "old"}


_SECRETS = """export const handler = async () => (
    { statusCode: 200, body: `${process.env.KEY} ${process.env.OLD}` });"""


def test_settings_are_sent_and_secrets_reach_the_handler(site: Cloud2Site) -> None:
    with_secrets(site)
    site.extension |= _ALL
    site.up(site.order("hello", HTTP, source=_SECRETS))
    assert site.said() == "new old"
    sent = settings(site)
    environment = sent.pop("environmentVariables")
    assert {"KEY", "OLD"}.isdisjoint(environment)
    assert sent == {
        "allTrafficOnLatestRevision": False,
        "availableCpu": "1",
        "ingressSettings": "ALLOW_INTERNAL_AND_GCLB",
        "maxInstanceCount": 9,
        "maxInstanceRequestConcurrency": 80,
        "secretEnvironmentVariables": [
            {"key": "KEY", "secret": "key", "version": "latest"},
            {"key": "OLD", "secret": "key", "version": "1"},
        ],
        "timeoutSeconds": 3,
        "vpcConnector": "shop",
        "vpcConnectorEgressSettings": "ALL_TRAFFIC",
    }


def test_removed_settings_are_unset_and_manual_ones_are_kept(site: Cloud2Site) -> None:
    with_secrets(site)
    site.extension |= _ALL
    site.up(site.order("hello", HTTP))
    site.cloud2.project.functions[_NAME].document["serviceConfig"]["minInstanceCount"] = 3
    site.extension.clear()
    site.up(site.order("hello", HTTP, word="two"))
    sent = settings(site)
    del sent["environmentVariables"]
    assert sent == {
        "allTrafficOnLatestRevision": False,
        "maxInstanceRequestConcurrency": 1,
        "minInstanceCount": 3,
        "timeoutSeconds": 3,
    }
    assert "fabric-settings" not in site.cloud2.function(_NAME)["labels"]


def test_provisioned_calls_are_instances(site: Cloud2Site) -> None:
    site.extension |= {"concurrency": 10, "cpu": 1}
    site.up(replace(site.order("hello", HTTP), provisioned_concurrency=25))
    assert settings(site)["minInstanceCount"] == 3
