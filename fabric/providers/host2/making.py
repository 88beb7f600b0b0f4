"""Deploy to Netlify: upload all functions of a service to a draft deploy without traffic."""

import itertools
from collections.abc import Sequence

from fabric.model.problems import FabricError, Problem
from fabric.providers.concerning import concerning
from fabric.providers.contract import DeploymentAddress, FunctionOrder, LiveFunction
from fabric.providers.host2.deploy_plan import DeployPlan, planned
from fabric.providers.host2.deploys import (
    DeployRow,
    Host2Work,
    SiteRow,
    created,
    deploy_of,
    is_required,
    made_ready,
    newest_deploys,
    site_of,
)
from fabric.providers.host2.noted import noted_wholes
from fabric.providers.host2.own_settings import (
    ServiceOwner,
    SiteVersion,
    function_name,
    is_of_nobody,
    owner_of,
    version_in,
)
from fabric.providers.host2.uploads import FunctionUpload
from fabric.providers.http_calls import ProviderCall
from fabric.providers.only_version import refuse_without_version
from fabric.providers.refused_calls import untouched
from fabric.providers.side_by_side import side_by_side

_BYTES = "application/octet-stream"


def made(
    work: Host2Work, address: DeploymentAddress, orders: Sequence[FunctionOrder]
) -> tuple[LiveFunction, ...]:
    with untouched():
        plan = planned(address, orders)
    own_site(work, owner_of(address))
    row = _then(work, address, plan, orders)
    if row is None:
        for order in orders:
            refuse_without_version(order)
        row = created(work, plan.wanted)
    _brought(work, plan, row)
    made_ready(work, row)
    work.watch.hear(f"the deploy {row.id} is ready and receives no traffic yet")
    version = SiteVersion(work.site, row.id, len(orders))
    return tuple(_live(address, order, version) for order in orders)


def own_site(work: Host2Work, owner: ServiceOwner) -> SiteRow:
    """Return the site, unless another owner has published in it."""
    site = site_of(work)
    there = site.published_deploy
    if there is None or owner.is_of(there.title) or is_of_nobody(there.title):
        return site
    said = f"`{work.quoted(there.title)}`" if there.title else "without a title"
    message = (
        f"the site `{site.name or work.site}` shows the deploy {there.id} ({said}), which does "
        f"not belong to {owner.name}"
    )
    hint = "use one site per service; nothing was changed"
    raise FabricError(
        Problem("deploy/foreign", message, f"{hint}; set another one in `HOST2_SITE_ID`")
    )


def _then(
    work: Host2Work,
    address: DeploymentAddress,
    plan: DeployPlan,
    orders: Sequence[FunctionOrder],
) -> DeployRow | None:
    """Find the deploy to roll back to, if it still exists and contains the order.

    State or the title shows its content. Its server files can differ.
    """
    idents = {version_in(order.version).deploy for order in orders} - {""}
    if not idents:
        return None
    owner, marked = owner_of(address), [(order.name, order.mark) for order in orders]
    noted = frozenset(one.deploy for one in noted_wholes(address.previous, marked))
    for ident in sorted({*noted, *idents}, key=lambda one: (one not in idents, one)):
        found = deploy_of(work, ident)
        if found is not None and found.is_ready and owner.is_of(found.title):
            counts = {owner.count_in(found.title, *one) for one in marked}
            if ident in noted or counts == {len(marked)}:
                return found
    return plan.wanted.among(newest_deploys(work))


def _brought(work: Host2Work, plan: DeployPlan, row: DeployRow) -> None:
    required = row.required_functions or ()
    uploads = [one for one in plan.uploads if one.sha256 in required]
    side_by_side(lambda one: _bring(work, row.id, one), uploads)


def _bring(work: Host2Work, ident: str, upload: FunctionUpload) -> None:
    path = f"/deploys/{ident}/functions/{upload.name}"
    query = f"?runtime={upload.runtime}&size={len(upload.content)}"
    call = ProviderCall("PUT", path + query, upload.content, _BYTES)
    tries = itertools.count()

    def act() -> None:
        """Upload the file unless an earlier try with a lost response did."""
        if next(tries) == 0 or is_required(work, ident, upload.sha256):
            work.api.once(call, object)

    with concerning(upload.function), work.told(f"function `{upload.function}`"):
        work.patient(act)


def _live(address: DeploymentAddress, order: FunctionOrder, version: SiteVersion) -> LiveFunction:
    return LiveFunction(
        order.name,
        function_name(address, order.name),
        version.text,
        artifact_sha256=order.artifact.sha256,
        mark=order.mark,
        triggers=order.triggers,
    )
