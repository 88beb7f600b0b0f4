"""Check that the resources of a service on AWS other than its functions still exist."""

from collections.abc import Iterator

from fabric.providers.cloud1.gateway import has_api, read_api_id
from fabric.providers.cloud1.release_state import read_kept_state
from fabric.providers.cloud1.versions import Cloud1Work
from fabric.providers.contract import DeploymentAddress


def find_missing(work: Cloud1Work, address: DeploymentAddress) -> Iterator[str]:
    """Yield the missing resources of the last release."""
    api = read_api_id(read_kept_state(address).texts)
    if api and not has_api(work, api):
        yield f"the HTTP API `{api}`"
