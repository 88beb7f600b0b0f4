"""Create the PowerDNS backend from the environment."""

from fabric.model.secret import Secret
from fabric.providers.http_calls import open_provider_http
from fabric.providers.pdns.api import PdnsApi, PdnsServer
from fabric.providers.pdns.backend import PdnsBackend
from fabric.providers.provider import ProviderContext
from fabric.providers.refused_calls import refuse_plain, require_variables


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
