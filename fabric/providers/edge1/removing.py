"""Delete a service on Cloudflare: the front Worker first, then the Workers of its functions."""

from collections.abc import Sequence

from fabric.providers.concerning import concerning
from fabric.providers.contract import DeploymentAddress, LiveFunction
from fabric.providers.edge1.addresses import shut
from fabric.providers.edge1.own_settings import Owner, gate_name, owner_of, worker_name
from fabric.providers.edge1.versions import Edge1Work, has_own, versions
from fabric.providers.http_calls import ProviderCall
from fabric.providers.kept_texts import kept_texts
from fabric.providers.refused_calls import unless_gone
from fabric.providers.side_by_side import side_by_side


def destroyed(
    work: Edge1Work, address: DeploymentAddress, functions: Sequence[LiveFunction]
) -> None:
    def delete(one: LiveFunction) -> None:
        name = one.resource_name or worker_name(address, one.name)
        with concerning(one.name), work.told(f"function `{one.name}`"):
            if _deleted_own(work, name, owner_of(address, one.name)):
                work.watch.hear(f"{one.name}: deleted with all its versions")

    side_by_side(delete, functions)


def dissolved(
    work: Edge1Work, address: DeploymentAddress, functions: Sequence[LiveFunction]
) -> None:
    removed_gate(work, address)
    destroyed(work, address, functions)


def removed_gate(work: Edge1Work, address: DeploymentAddress) -> None:
    """Delete the front Worker after its routes, including routes of an interrupted deletion."""
    name, owner = gate_name(address), owner_of(address)
    with work.told(f"the front Worker `{name}` of `{address.service}`"):
        rows = versions(work, name)
        if rows is not None and not has_own(rows, owner):
            _leave(work, name, owner)
            return
        shut(work, name, kept_texts(address))
        if rows is not None:
            _delete(work, name)


def _deleted_own(work: Edge1Work, name: str, owner: Owner) -> bool:
    """Delete the Worker and return whether the name is unused now."""
    rows = versions(work, name)
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
    with unless_gone():
        work.tell(ProviderCall("DELETE", work.script(name, "?force=true")))
