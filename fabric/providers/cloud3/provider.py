"""Create the Azure observer from the environment: workspace and token."""

from fabric.model.secret import Secret
from fabric.providers.cloud3.observe import Cloud3Observer, Cloud3Workspace
from fabric.providers.core.errors import refuse_plain, require_variables
from fabric.providers.core.http_calls import open_provider_http
from fabric.providers.core.provider import Provider, ProviderContext

_ID, _OFFICIAL = "cloud3-functions", "https://api.loganalytics.azure.com"
_TOKEN, _WORKSPACE = "CLOUD3_ACCESS_TOKEN", "CLOUD3_LOG_ANALYTICS_WORKSPACE_ID"
_BASE_URL = "CLOUD3_API_BASE_URL"


def open_cloud3_observer(context: ProviderContext) -> Cloud3Observer:
    """Open the observer. Raises if required variables are not set."""
    env = context.env
    require_variables(_ID, env, (_TOKEN, _WORKSPACE))
    base_url = env.get(_BASE_URL) or _OFFICIAL
    refuse_plain(_BASE_URL, base_url)
    key = ("cloud3", base_url)
    http = context.connections.find_or_make(key, lambda: open_provider_http(_ID))
    workspace = Cloud3Workspace(base_url, Secret(env[_TOKEN]), env[_WORKSPACE])
    return Cloud3Observer(http, workspace, context.build_redaction(env[_TOKEN]))


PROVIDER = Provider(open_observer=open_cloud3_observer)
