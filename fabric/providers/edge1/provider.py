"""Create the Cloudflare deployer from the environment: account, token and endpoint."""

import shutil
from collections.abc import Mapping, Sequence
from functools import partial

from fabric.model.secret import Secret
from fabric.model.switches import is_on
from fabric.providers.core.errors import refuse_plain, require_variables
from fabric.providers.core.provider import Provider, ProviderContext
from fabric.providers.core.redaction import Redaction
from fabric.providers.edge1.client import Edge1Account, Edge1Api, Edge1Place, Edge1Settings
from fabric.providers.edge1.deployer import Edge1Workers
from fabric.providers.edge1.observe import Edge1Observer

_OFFICIAL = "https://api.cloudflare.com/client/v4"
_NO_TOOL = "FABRIC_EDGE1_DISABLE_TAIL_TOOL"
_TOOL = "wrangler"
_REQUIRED = ("EDGE1_API_TOKEN", "EDGE1_ACCOUNT_ID")


def open_edge1_deployer(context: ProviderContext) -> Edge1Workers:
    own = context.read_settings(Edge1Settings)
    return Edge1Workers(
        connect=partial(_connect_api, context, own),
        own=own,
        place=_place(context.env),
        hide=_build_redaction(context),
    )


def open_edge1_observer(context: ProviderContext) -> Edge1Observer:
    """Open the observer. Raises if required variables are not set."""
    env = context.env
    tool = "" if is_on(_NO_TOOL, env) else shutil.which(_TOOL, path=env.get("PATH", ""))
    api = _connect_api(context, Edge1Settings())
    return Edge1Observer(api, _build_redaction(context), tool or "", context.around.env)


def _build_redaction(context: ProviderContext) -> Redaction:
    return context.build_redaction(context.env.get(_REQUIRED[0], ""))


def _connect_api(context: ProviderContext, own: Edge1Settings) -> Edge1Api:
    needed = (*_REQUIRED, "EDGE1_ZONE_ID") if own.hostname else _REQUIRED
    return context.connect(partial(read_account, needed=needed), Edge1Api)


def _place(env: Mapping[str, str]) -> Edge1Place:
    account, zone = env.get("EDGE1_ACCOUNT_ID", ""), env.get("EDGE1_ZONE_ID", "")
    return Edge1Place(account, zone, has_token=bool(env.get(_REQUIRED[0])))


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


PROVIDER = Provider(open_deployer=open_edge1_deployer, open_observer=open_edge1_observer)
