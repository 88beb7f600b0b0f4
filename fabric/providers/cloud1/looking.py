"""Check that the resources of a service on AWS other than its functions still exist."""

from collections.abc import Iterator

from fabric.providers.cloud1.gateway import api_in, has_api
from fabric.providers.cloud1.kept import kept_in
from fabric.providers.cloud1.versions import Cloud1Work
from fabric.providers.contract import DeploymentAddress


def lost(work: Cloud1Work, address: DeploymentAddress) -> Iterator[str]:
    """Yield the missing resources of the last release."""
    api = api_in(kept_in(address).texts)
    if api and not has_api(work, api):
        yield f"the HTTP API `{api}`"
