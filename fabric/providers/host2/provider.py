"""Create the Netlify deployer from the environment: site, token and endpoint."""

from collections.abc import Mapping

from fabric.model.secret import Secret
from fabric.providers.core.errors import refuse_plain, require_variables
from fabric.providers.core.provider import Provider, ProviderContext
from fabric.providers.host2.client import Host2Account, Host2Api, Host2Place
from fabric.providers.host2.deployer import Host2Sites

_OFFICIAL = "https://api.netlify.com/api/v1"
_TOKEN, _SITE = "HOST2_AUTH_TOKEN", "HOST2_SITE_ID"


def open_host2_deployer(context: ProviderContext) -> Host2Sites:
    env = context.env
    hide = context.build_redaction(env.get(_TOKEN, ""))

    def connect() -> Host2Api:
        """Connect and require credentials only here: settings can be checked without them."""
        account = _read_account(env)
        key = ("host2", account.base_url, account.site, account.token.reveal())
        return context.connections.find_or_make(key, lambda: Host2Api(account))

    return Host2Sites(connect, Host2Place(env.get(_SITE, "")), hide=hide)


def _read_account(env: Mapping[str, str]) -> Host2Account:
    require_variables("host2", env, (_TOKEN, _SITE))
    base_url = env.get("HOST2_API_BASE_URL") or _OFFICIAL
    refuse_plain("HOST2_API_BASE_URL", base_url)
    return Host2Account(base_url, Secret(env[_TOKEN]), env[_SITE])


PROVIDER = Provider(open_deployer=open_host2_deployer)
