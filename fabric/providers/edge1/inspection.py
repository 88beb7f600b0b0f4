"""Check that the resources of a service on Cloudflare other than its functions still exist."""

from collections.abc import Iterator

from fabric.providers.contract import DeploymentAddress
from fabric.providers.edge1.addresses import is_open
from fabric.providers.edge1.release_state import ADDRESS, GATE
from fabric.providers.edge1.settings import build_gate_name, build_worker_owner
from fabric.providers.edge1.versions import Edge1Work, has_own, list_worker_versions
from fabric.providers.release_state import read_kept_texts


def find_missing(work: Edge1Work, address: DeploymentAddress) -> Iterator[str]:
    """Yield the missing resources of the last release."""
    kept = read_kept_texts(address)
    if not kept.texts.get(GATE):
        return
    name = build_gate_name(address)
    rows = list_worker_versions(work, name)
    if rows is None or not has_own(rows, build_worker_owner(address)):
        yield f"the front Worker `{name}`"
    elif not is_open(work, name, kept):
        yield f"the address `{kept.texts.get(ADDRESS, '')}` of the front Worker `{name}`"
