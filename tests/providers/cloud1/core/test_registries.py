"""The login of ECR: for its registries only, and without it for no other registry."""

import pytest

from fabric.providers.cloud1.core.client import Cloud1Clients
from fabric.providers.cloud1.core.registries import EcrRegistries, find_ecr_login, find_ecr_region
from fabric.system.cloud1_account import resolve_cloud1_account
from tests.support.servers.strict_cloud1.client import StrictCloud1

_ECR = "123456789012.dkr.ecr.us-east-1.amazonaws.com"


@pytest.mark.parametrize(
    ("registry", "region"),
    [
        (_ECR, "us-east-1"),
        ("123456789012.dkr.ecr-fips.us-gov-west-1.amazonaws.com", "us-gov-west-1"),
        ("123456789012.dkr.ecr.cn-north-1.amazonaws.com.cn", "cn-north-1"),
        ("123456789012.dkr-ecr.eu-west-1.on.aws", "eu-west-1"),
        ("public.ecr.aws", ""),
        (f"{_ECR}.evil.example", ""),
        ("docker.io", ""),
    ],
)
def test_the_region_of_a_private_registry_is_in_its_name(registry: str, region: str) -> None:
    assert find_ecr_region(registry) == region


@pytest.mark.slow
def test_a_base_image_in_ecr_is_read_with_the_credentials_of_aws(cloud1: StrictCloud1) -> None:
    cloud1.use_registry("127.0.0.1:5000")
    found = find_ecr_login(_ECR, cloud1.environment)
    assert found is not None
    assert (found.user, found.password.reveal()) == ("AWS", cloud1.key)
    assert find_ecr_login("docker.io", cloud1.environment) is None


@pytest.mark.slow
def test_the_token_is_fetched_once_and_is_for_ecr_only(cloud1: StrictCloud1) -> None:
    cloud1.use_registry("127.0.0.1:5000")
    clients = Cloud1Clients(resolve_cloud1_account(cloud1.environment, ("AWS_ENDPOINT_URL",)))
    ecr = EcrRegistries(clients, {"HOME": "/nonexistent"})
    assert [ecr.own().name, ecr.own().name] == ["127.0.0.1:5000"] * 2
    assert cloud1.calls()["ecr.GetAuthorizationToken"] == 1
    find = ecr.registries._find_login  # noqa: SLF001 - what a registry of a run gets
    logins = [find(one) for one in ("127.0.0.1:5000", _ECR, "docker.io")]
    assert [one.user if one else "" for one in logins] == ["AWS", "AWS", ""]
    ecr.close()
    clients.close()
