"""Create the Cloudflare backends of routers from the environment."""

from collections.abc import Mapping, Sequence

from fabric.providers.connections import Connections
from fabric.providers.edge1.api import Edge1Api
from fabric.providers.edge1.make import read_account
from fabric.providers.edge1.routing.backend import Edge1Routing
from fabric.providers.edge1.routing.plain_records import Edge1PlainRecords
from fabric.providers.redaction import Redaction, build_redaction

_ZONE = ("EDGE1_API_TOKEN", "EDGE1_ZONE_ID")
_BALANCED = (*_ZONE, "EDGE1_ACCOUNT_ID")


def open_edge1_routing(env: Mapping[str, str], connections: Connections) -> Edge1Routing:
    return Edge1Routing(*_connect_api(env, connections, _BALANCED))


def open_edge1_plain_records(env: Mapping[str, str], connections: Connections) -> Edge1PlainRecords:
    return Edge1PlainRecords(*_connect_api(env, connections, _ZONE))


def _connect_api(
    env: Mapping[str, str], connections: Connections, needed: Sequence[str]
) -> tuple[Edge1Api, Redaction]:
    account = read_account(env, needed)
    token = account.token.reveal()
    key = ("edge1", account.base_url, account.account, account.zone, token)
    api = connections.find_or_make(key, lambda: Edge1Api(account))
    return api, build_redaction((token,), env.items())
