"""Create the PowerDNS backend from the environment."""

from fabric.model.secret import Secret
from fabric.providers.core.errors import refuse_plain, require_variables
from fabric.providers.core.http_calls import open_provider_http
from fabric.providers.core.provider import ProviderContext
from fabric.providers.pdns.api import PdnsApi, PdnsServer
from fabric.providers.pdns.backend import PdnsBackend


def open_pdns_backend(context: ProviderContext) -> PdnsBackend:
    env = context.env
    require_variables("pdns", env, ("PDNS_API_BASE_URL", "PDNS_API_KEY"))
    url, key = env["PDNS_API_BASE_URL"], env["PDNS_API_KEY"]
    refuse_plain("PDNS_API_BASE_URL", url)
    server = PdnsServer(url, Secret(key), env.get("PDNS_SERVER_ID") or "localhost")
    api = context.connections.find_or_make(
        ("pdns", url, server.server, key), lambda: PdnsApi(server, open_provider_http("pdns"))
    )
    return PdnsBackend(api, context.build_redaction(key))
