"""Create the AWS deployer from the environment: account, role and endpoint."""

import json
from collections.abc import Callable, Mapping

from msgspec import ValidationError, convert
from msgspec.structs import replace

from fabric.model.problems import FabricError, Problem
from fabric.providers.cloud1.clients import Cloud1Clients
from fabric.providers.cloud1.deployer import Cloud1Lambda
from fabric.providers.cloud1.function_settings import OwnSettings
from fabric.providers.cloud1.observing.observer import Cloud1Observer
from fabric.providers.connections import Connections
from fabric.providers.redaction import build_redaction
from fabric.providers.run_command import CommandEnvironment
from fabric.system.cloud1_account import resolve_cloud1_account

_ENDPOINTS = ("CLOUD1_API_BASE_URL", "AWS_ENDPOINT_URL")
_ROLE = "FABRIC_CLOUD1_LAMBDA_ROLE_ARN"


def open_cloud1_deployer(
    around: CommandEnvironment, extension: str, connections: Connections
) -> Cloud1Lambda:
    env = around.env.reveal()
    hide = build_redaction(around.hide.reveal(), env.items())
    own = _read_own_settings(extension, env.get(_ROLE, ""))
    return Cloud1Lambda(build_client_factory(env, connections), own, hide=hide)


def open_cloud1_observer(around: CommandEnvironment, connections: Connections) -> Cloud1Observer:
    env = around.env.reveal()
    hide = build_redaction(around.hide.reveal(), env.items())
    return Cloud1Observer(build_client_factory(env, connections), hide)


def build_client_factory(
    env: Mapping[str, str], connections: Connections
) -> Callable[[str], Cloud1Clients]:
    account = resolve_cloud1_account(env, _ENDPOINTS)

    def connect(region: str) -> Cloud1Clients:
        asked = replace(account, region=region or account.region)
        return connections.find_or_make(("cloud1", asked), lambda: Cloud1Clients(asked))

    return connect


def _read_own_settings(extension: str, role: str) -> OwnSettings:
    """Read the provider settings. A role in the config takes precedence over the environment."""
    try:
        said = convert(json.loads(extension), OwnSettings)
    except ValidationError as error:
        message = f"invalid `extensions.cloud1-lambda`: {error}"
        raise FabricError(Problem("config/type", message)) from error
    return replace(said, role_arn=said.role_arn or role)
