"""The identity of the Netlify token, and whether it can read the site. Changes nothing."""

from msgspec import Struct

from fabric.providers.host2.deploys import Host2Work, fetch_site
from fabric.providers.http_calls import ProviderCall


class _User(Struct, frozen=True):
    email: str | None = None
    full_name: str | None = None


def fetch_identity(work: Host2Work) -> str:
    user = work.ask(ProviderCall("GET", "/user"), _User)
    site = fetch_site(work)
    who = user.email or user.full_name or "a user without a name"
    return f"{who}, with the site {site.name or work.site} at {site.endpoint}"
