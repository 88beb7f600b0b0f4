"""Create the Cloudflare deployer from the environment: account, token and endpoint."""

import json
import shutil
from collections.abc import Mapping, Sequence

from msgspec import ValidationError, convert

from fabric.model.problems import FabricError, Problem
from fabric.model.secret import Secret
from fabric.model.switches import is_on
from fabric.providers.connections import Connections
from fabric.providers.edge1.api import Edge1Account, Edge1Api
from fabric.providers.edge1.deployer import Edge1Workers
from fabric.providers.edge1.observing.observer import Edge1Observer
from fabric.providers.edge1.settings import Edge1Place, Edge1Settings
from fabric.providers.redaction import build_redaction
from fabric.providers.refused_calls import refuse_plain, require_variables
from fabric.providers.run_command import CommandEnvironment

_OFFICIAL = "https://api.cloudflare.com/client/v4"
_NO_TOOL = "FABRIC_EDGE1_DISABLE_TAIL_TOOL"
_TOOL = "wrangler"
_REQUIRED = ("EDGE1_API_TOKEN", "EDGE1_ACCOUNT_ID")


def open_edge1_deployer(
    around: CommandEnvironment, extension: str, connections: Connections
) -> Edge1Workers:
    env = around.env.reveal()
    own = _read_own_settings(extension)
    hide = build_redaction((*around.hide.reveal(), *_list_tokens(env)), env.items())

    def connect() -> Edge1Api:
        """Connect and require credentials only here: settings can be checked without them."""
        return _connect_api(_read_config_account(env, own), connections)

    return Edge1Workers(connect, own, _place(env), hide=hide)


def open_edge1_observer(around: CommandEnvironment, connections: Connections) -> Edge1Observer:
    """Open the observer. Raises if required variables are not set."""
    env = around.env.reveal()
    hide = build_redaction((*around.hide.reveal(), *_list_tokens(env)), env.items())
    tool = "" if is_on(_NO_TOOL, env) else shutil.which(_TOOL, path=env.get("PATH", ""))
    return Edge1Observer(
        _connect_api(_read_config_account(env, Edge1Settings()), connections),
        hide,
        tool or "",
        around.env,
    )


def _connect_api(account: Edge1Account, connections: Connections) -> Edge1Api:
    key = ("edge1", account.base_url, account.account, account.zone, account.token.reveal())
    return connections.find_or_make(key, lambda: Edge1Api(account))


def _place(env: Mapping[str, str]) -> Edge1Place:
    account, zone = env.get("EDGE1_ACCOUNT_ID", ""), env.get("EDGE1_ZONE_ID", "")
    return Edge1Place(account, zone, has_token=bool(_list_tokens(env)))


def _list_tokens(env: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(filter(None, (env.get("EDGE1_API_TOKEN"),)))


def _read_config_account(env: Mapping[str, str], own: Edge1Settings) -> Edge1Account:
    return read_account(env, (*_REQUIRED, "EDGE1_ZONE_ID") if own.hostname else _REQUIRED)


def read_account(env: Mapping[str, str], needed: Sequence[str]) -> Edge1Account:
    require_variables("edge1-workers", env, needed)
    base_url = env.get("EDGE1_API_BASE_URL") or _OFFICIAL
    refuse_plain("EDGE1_API_BASE_URL", base_url)
    return Edge1Account(
        base_url,
        Secret(env["EDGE1_API_TOKEN"]),
        env.get("EDGE1_ACCOUNT_ID", ""),
        env.get("EDGE1_ZONE_ID", ""),
        env.get("EDGE1_WORKERS_URL", ""),
    )


def _read_own_settings(extension: str) -> Edge1Settings:
    try:
        return convert(json.loads(extension), Edge1Settings)
    except ValidationError as error:
        message = f"invalid `extensions.edge1-workers`: {error}"
        raise FabricError(Problem("config/type", message)) from error
