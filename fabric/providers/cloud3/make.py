"""Create the Azure observer from the environment: workspace and token."""

from fabric.model.secret import Secret
from fabric.providers.cloud3.observer import Cloud3Observer, Cloud3Workspace
from fabric.providers.connections import Connections
from fabric.providers.http_calls import open_provider_http
from fabric.providers.redaction import build_redaction
from fabric.providers.refused_calls import refuse_plain, require_variables
from fabric.providers.run_command import CommandEnvironment

_ID, _OFFICIAL = "cloud3-functions", "https://api.loganalytics.azure.com"
_TOKEN, _WORKSPACE = "CLOUD3_ACCESS_TOKEN", "CLOUD3_LOG_ANALYTICS_WORKSPACE_ID"
_BASE_URL = "CLOUD3_API_BASE_URL"


def open_cloud3_observer(around: CommandEnvironment, connections: Connections) -> Cloud3Observer:
    """Open the observer. Raises if required variables are not set."""
    env = around.env.reveal()
    require_variables(_ID, env, (_TOKEN, _WORKSPACE))
    hide = build_redaction((*around.hide.reveal(), env[_TOKEN]), env.items())
    base_url = env.get(_BASE_URL) or _OFFICIAL
    refuse_plain(_BASE_URL, base_url)
    http = connections.find_or_make(("cloud3", base_url), lambda: open_provider_http(_ID))
    return Cloud3Observer(
        http, Cloud3Workspace(base_url, Secret(env[_TOKEN]), env[_WORKSPACE]), hide
    )
