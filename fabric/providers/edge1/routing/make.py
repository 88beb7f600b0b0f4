"""Open the Cloudflare backends of routers from the environment."""

from collections.abc import Sequence

from fabric.providers.core.provider import ProviderContext
from fabric.providers.edge1.client import Edge1Api
from fabric.providers.edge1.provider import connect_edge1, read_account
from fabric.providers.edge1.routing.backend import Edge1Routing
from fabric.providers.edge1.routing.plain_records import Edge1PlainRecords

_ZONE = ("EDGE1_API_TOKEN", "EDGE1_ZONE_ID")
_BALANCED = (*_ZONE, "EDGE1_ACCOUNT_ID")


def open_edge1_routing(context: ProviderContext) -> Edge1Routing:
    return Edge1Routing(_connect_api(context, _BALANCED), context.build_redaction(_token(context)))


def open_edge1_plain_records(context: ProviderContext) -> Edge1PlainRecords:
    api = _connect_api(context, _ZONE)
    return Edge1PlainRecords(api, context.build_redaction(_token(context)))


def _connect_api(context: ProviderContext, needed: Sequence[str]) -> Edge1Api:
    return connect_edge1(read_account(context.env, needed), context.connections)


def _token(context: ProviderContext) -> str:
    return context.env[_ZONE[0]]
