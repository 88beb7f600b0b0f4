"""Delete a service on Cloudflare: the front Worker first, then the Workers of its functions."""

from collections.abc import Sequence

from fabric.providers.core.contract import DeploymentAddress, LiveFunction
from fabric.providers.core.errors import attach_error_spot, ignore_missing
from fabric.providers.core.http_calls import ProviderCall
from fabric.providers.core.release_state import read_kept_texts
from fabric.providers.core.retry import run_parallel
from fabric.providers.edge1.addresses import shut
from fabric.providers.edge1.settings import (
    Owner,
    build_gate_name,
    build_worker_name,
    build_worker_owner,
)
from fabric.providers.edge1.versions import Edge1Work, has_own, list_worker_versions


def delete_functions(
    work: Edge1Work, address: DeploymentAddress, functions: Sequence[LiveFunction]
) -> None:
    def delete(one: LiveFunction) -> None:
        name = one.resource_name or build_worker_name(address, one.name)
        with attach_error_spot(one.name), work.convert_errors(f"function `{one.name}`"):
            if _delete_own(work, name, build_worker_owner(address, one.name)):
                work.watch.hear(f"{one.name}: deleted with all its versions")

    run_parallel(delete, functions)


def delete_service(
    work: Edge1Work, address: DeploymentAddress, functions: Sequence[LiveFunction]
) -> None:
    remove_gate(work, address)
    delete_functions(work, address, functions)


def remove_gate(work: Edge1Work, address: DeploymentAddress) -> None:
    """Delete the front Worker after its routes, including routes of an interrupted deletion."""
    name, owner = build_gate_name(address), build_worker_owner(address)
    with work.convert_errors(f"the front Worker `{name}` of `{address.service}`"):
        rows = list_worker_versions(work, name)
        if rows is not None and not has_own(rows, owner):
            _leave(work, name, owner)
            return
        shut(work, name, read_kept_texts(address))
        if rows is not None:
            _delete(work, name)


def _delete_own(work: Edge1Work, name: str, owner: Owner) -> bool:
    """Delete the Worker and return whether the name is unused now."""
    rows = list_worker_versions(work, name)
    if rows is not None and not has_own(rows, owner):
        _leave(work, name, owner)
        return False
    if rows is not None:
        _delete(work, name)
    return True


def _leave(work: Edge1Work, name: str, owner: Owner) -> None:
    """Report a Worker of another owner, which must not block the deletion of ours."""
    work.watch.hear(f"the Worker `{name}` does not belong to {owner.title} and was not deleted")


def _delete(work: Edge1Work, name: str) -> None:
    """Delete a Worker even if it has bindings, or others bind to it."""
    with ignore_missing():
        work.tell(ProviderCall("DELETE", work.script(name, "?force=true")))
