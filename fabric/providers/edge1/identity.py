"""The identity of the Cloudflare token, and whether it can read Workers. Changes nothing."""

from fabric.providers.edge1.addresses import fetch_subdomain
from fabric.providers.edge1.versions import Edge1Work, build_routes_path
from fabric.providers.http_calls import ProviderCall


def fetch_identity(work: Edge1Work) -> str:
    """Fetch the account. A token has no readable name, so the account identifies it."""
    work.tell(ProviderCall("GET", f"{work.workers}/scripts"))
    account = f"a token of the account {work.api.account.account}"
    if work.own.hostname:
        work.tell(ProviderCall("GET", build_routes_path(work.api.account.zone)))
        return f"{account}, with access to its Workers and to the routes of its zone"
    return f"{account}, with the subdomain {fetch_subdomain(work)}.workers.dev"
