"""Create the Netlify deployer from the environment: site, token and endpoint."""

from collections.abc import Mapping
from functools import partial

from fabric.model.secret import Secret
from fabric.providers.core.errors import refuse_plain, require_variables
from fabric.providers.core.ownership import CurrentOwner
from fabric.providers.core.provider import Provider, ProviderContext
from fabric.providers.host2.client import Host2Account, Host2Api
from fabric.providers.host2.deployer import Host2Sites
from fabric.providers.host2.release import SITE

_OFFICIAL = "https://api.netlify.com/api/v1"
_TOKEN, _SITE = "HOST2_AUTH_TOKEN", "HOST2_SITE_ID"


def open_host2_deployer(context: ProviderContext) -> Host2Sites:
    env = context.env
    return Host2Sites(
        connect=partial(context.connect, _read_account, Host2Api),
        place=CurrentOwner(SITE, _SITE, env.get(_SITE, "")),
        hide=context.build_redaction(env.get(_TOKEN, "")),
    )


def _read_account(env: Mapping[str, str]) -> Host2Account:
    require_variables("host2", env, (_TOKEN, _SITE))
    base_url = env.get("HOST2_API_BASE_URL") or _OFFICIAL
    refuse_plain("HOST2_API_BASE_URL", base_url)
    return Host2Account(base_url, Secret(env[_TOKEN]), env[_SITE])


PROVIDER = Provider(open_deployer=open_host2_deployer)
