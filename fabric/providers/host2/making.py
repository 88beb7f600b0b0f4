"""Deploy to Netlify: upload all functions of a service to a draft deploy without traffic."""

import itertools
from collections.abc import Sequence

from fabric.model.problems import FabricError, Problem
from fabric.providers.core.contract import DeploymentAddress, FunctionOrder, LiveFunction
from fabric.providers.core.errors import attach_error_spot, mark_untouched, refuse_without_version
from fabric.providers.core.http_calls import ProviderCall
from fabric.providers.core.retry import run_parallel
from fabric.providers.core.whole_service import (
    build_live_functions,
    parse_version,
    wait_until_ready,
)
from fabric.providers.host2.client import (
    ServiceOwner,
    build_service_owner,
    is_of_nobody,
    list_recorded_wholes,
)
from fabric.providers.host2.functions import (
    DeployRow,
    Host2Work,
    SiteRow,
    build_fetch_call,
    create_deploy,
    fetch_deploy,
    fetch_site,
    is_required,
    list_newest_deploys,
)
from fabric.providers.host2.redirects import hash_file
from fabric.providers.host2.uploads import DeployPlan, FunctionUpload, plan_deploy

_BYTES = "application/octet-stream"


def deploy_orders(
    work: Host2Work, address: DeploymentAddress, orders: Sequence[FunctionOrder]
) -> tuple[LiveFunction, ...]:
    with mark_untouched():
        plan = plan_deploy(address, orders, work.rules)
    require_own_site(work, build_service_owner(address))
    row = _find_earlier_deploy(work, address, plan, orders)
    if row is None:
        for order in orders:
            refuse_without_version(order)
        row = create_deploy(work, plan.wanted)
    _upload_functions(work, plan, row)
    _upload_files(work, plan, row)
    await_deploy(work, row)
    work.watch.hear(f"the deploy {row.ident} is ready and receives no traffic yet")
    return build_live_functions(address, orders, work.site, row.ident)


def await_deploy(work: Host2Work, row: DeployRow) -> None:
    """Wait until Netlify has processed all uploads."""
    call = build_fetch_call(work, row.ident)
    wait_until_ready(work, row, "deploy", lambda: work.ask(call, DeployRow))


def require_own_site(work: Host2Work, owner: ServiceOwner) -> SiteRow:
    """Return the site, unless another owner has published in it."""
    site = fetch_site(work)
    there = site.published_deploy
    if there is None or owner.is_of(there.title) or is_of_nobody(there.title):
        return site
    said = f"`{work.quoted(there.title)}`" if there.title else "without a title"
    message = (
        f"the site `{site.name or work.site}` shows the deploy {there.ident} ({said}), which does "
        f"not belong to {owner.name}"
    )
    hint = "use one site per service; nothing was changed"
    raise FabricError(
        Problem("deploy/foreign", message, f"{hint}; set another one in `HOST2_SITE_ID`")
    )


def _find_earlier_deploy(
    work: Host2Work,
    address: DeploymentAddress,
    plan: DeployPlan,
    orders: Sequence[FunctionOrder],
) -> DeployRow | None:
    """Find the deploy to roll back to, if it still exists and contains the order.

    State or the title shows its content. Its server files can differ.
    """
    idents = {parse_version(order.version).ident for order in orders} - {""}
    if not idents:
        return None
    owner, marked = build_service_owner(address), [(order.name, order.mark) for order in orders]
    noted = frozenset(one.ident for one in list_recorded_wholes(address.previous, marked))
    for ident in sorted({*noted, *idents}, key=lambda one: (one not in idents, one)):
        found = fetch_deploy(work, ident)
        if found is not None and found.is_ready and owner.is_of(found.title):
            counts = {owner.count_in(found.title, *one) for one in marked}
            if ident in noted or counts == {len(marked)}:
                return found
    return plan.wanted.among(list_newest_deploys(work))


def _upload_functions(work: Host2Work, plan: DeployPlan, row: DeployRow) -> None:
    required = row.required_functions or ()
    uploads = [one for one in plan.uploads if one.sha256 in required]
    run_parallel(lambda one: _bring(work, row.ident, one), uploads)


def _upload_files(work: Host2Work, plan: DeployPlan, row: DeployRow) -> None:
    for path, content in plan.files.items():
        digest = hash_file(content)
        if digest in (row.required or ()):
            query = f"?size={len(content)}"
            call = ProviderCall("PUT", f"/deploys/{row.ident}/files{path}{query}", content, _BYTES)
            with work.convert_errors(f"the file `{path}`"):
                _bring_content(work, row.ident, digest, call)


def _bring(work: Host2Work, ident: str, upload: FunctionUpload) -> None:
    path = f"/deploys/{ident}/functions/{upload.name}"
    query = f"?runtime={upload.runtime}&size={len(upload.content)}"
    call = ProviderCall("PUT", path + query, upload.content, _BYTES)
    with attach_error_spot(upload.function), work.convert_errors(f"function `{upload.function}`"):
        _bring_content(work, ident, upload.sha256, call)


def _bring_content(work: Host2Work, ident: str, digest: str, call: ProviderCall) -> None:
    tries = itertools.count()

    def act() -> None:
        """Upload the content unless an earlier try with a lost response did."""
        if next(tries) == 0 or is_required(work, ident, digest):
            work.api.once(call, object)

    work.patient(act)
