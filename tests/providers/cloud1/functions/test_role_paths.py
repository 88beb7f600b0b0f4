"""Roles that stay at their paths."""

from msgspec.structs import replace

from fabric.providers.cloud1.functions.roles import find_kept_path
from fabric.providers.core.contract import DeploymentAddress
from tests.support.records import record

_ARN = "arn:aws:iam::1:role"


def test_roles_are_named_with_their_own_paths() -> None:
    paths = {"extra": "/b/", "hello": "/a/", "last": "/", "more": "/b/"}
    kept = tuple((f"role:{name}", f"hash {_ARN}{path}{name}") for name, path in paths.items())
    address = DeploymentAddress(
        "shop", "dev", "cloud1-lambda", "cloud1-lambda", previous=replace(record(), kept=kept)
    )
    found = find_kept_path(address, "/")
    assert found is not None
    assert found.message == (
        "`iam.path` is `/`, but the roles of `hello` stay at `/a/`, `extra`, `more` stay at `/b/`"
    )
