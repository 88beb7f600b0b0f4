"""Create the Alibaba Cloud deployer from the environment: access key, region and endpoint."""

from functools import partial

from fabric.model.secret import Secret
from fabric.providers.cloud4.client import AccessKey, Cloud4Api
from fabric.providers.cloud4.deployer import Cloud4Functions
from fabric.providers.cloud4.settings import Cloud4Place, Cloud4Settings
from fabric.providers.core.errors import refuse_plain, refuse_unsendable, require_variables
from fabric.providers.core.provider import Provider, ProviderContext

_KEY, _SECRET, _REGION = "CLOUD4_ACCESS_KEY_ID", "CLOUD4_ACCESS_KEY_SECRET", "CLOUD4_REGION"
_ACCOUNT, _BASE_URL = "CLOUD4_ACCOUNT_ID", "CLOUD4_API_BASE_URL"


def open_cloud4_deployer(context: ProviderContext) -> Cloud4Functions:
    env = context.env
    return Cloud4Functions(
        connect=partial(_connect, context),
        own=context.read_settings(Cloud4Settings),
        place=Cloud4Place(env.get(_REGION, ""), env.get(_ACCOUNT, "")),
        hide=context.build_redaction(env.get(_SECRET, "")),
    )


def _connect(context: ProviderContext, region: str) -> Cloud4Api:
    """Connect and require credentials only here: settings can be checked without them."""
    env = context.env
    require_variables("cloud4-fc", {**env, _REGION: region}, (_KEY, _SECRET, _REGION))
    refuse_unsendable(_ACCOUNT, env.get(_ACCOUNT, ""))
    base_url = env.get(_BASE_URL) or f"https://fcv3.{region}.aliyuncs.com"
    refuse_plain(_BASE_URL, base_url)
    access = AccessKey(env[_KEY], Secret(env[_SECRET]))
    key = ("cloud4", base_url, access.ident, env[_SECRET])
    return context.connections.find_or_make(key, lambda: Cloud4Api(base_url, access))


PROVIDER = Provider(open_deployer=open_cloud4_deployer)
