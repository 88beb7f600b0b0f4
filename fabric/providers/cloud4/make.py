"""Create the Alibaba Cloud deployer from the environment: access key, region and endpoint."""

import json

from msgspec import ValidationError, convert

from fabric.model.problems import FabricError, Problem
from fabric.model.secret import Secret
from fabric.providers.cloud4.api import Cloud4Api
from fabric.providers.cloud4.deployer import Cloud4Functions
from fabric.providers.cloud4.settings import Cloud4Place, Cloud4Settings
from fabric.providers.cloud4.signing import AccessKey
from fabric.providers.connections import Connections
from fabric.providers.redaction import build_redaction
from fabric.providers.refused_calls import refuse_plain, refuse_unsendable, require_variables
from fabric.providers.run_command import CommandEnvironment

_KEY, _SECRET, _REGION = "CLOUD4_ACCESS_KEY_ID", "CLOUD4_ACCESS_KEY_SECRET", "CLOUD4_REGION"
_ACCOUNT, _BASE_URL = "CLOUD4_ACCOUNT_ID", "CLOUD4_API_BASE_URL"


def open_cloud4_deployer(
    around: CommandEnvironment, extension: str, connections: Connections
) -> Cloud4Functions:
    env = around.env.reveal()
    secrets = filter(None, (*around.hide.reveal(), env.get(_SECRET)))
    hide = build_redaction(secrets, env.items())
    place = Cloud4Place(env.get(_REGION, ""), env.get(_ACCOUNT, ""))

    def connect(region: str) -> Cloud4Api:
        """Connect and require credentials only here: settings can be checked without them."""
        require_variables("cloud4-fc", {**env, _REGION: region}, (_KEY, _SECRET, _REGION))
        refuse_unsendable(_ACCOUNT, env.get(_ACCOUNT, ""))
        base_url = env.get(_BASE_URL) or f"https://fcv3.{region}.aliyuncs.com"
        refuse_plain(_BASE_URL, base_url)
        access = AccessKey(env[_KEY], Secret(env[_SECRET]))
        key = ("cloud4", base_url, access.ident, env[_SECRET])
        return connections.find_or_make(key, lambda: Cloud4Api(base_url, access))

    return Cloud4Functions(connect, _read_own_settings(extension), place, hide=hide)


def _read_own_settings(extension: str) -> Cloud4Settings:
    try:
        return convert(json.loads(extension), Cloud4Settings)
    except ValidationError as error:
        message = f"invalid `extensions.cloud4-fc`: {error}"
        raise FabricError(Problem("config/type", message)) from error
