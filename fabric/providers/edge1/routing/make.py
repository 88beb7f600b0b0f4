"""The back end `edge1` of routers from what surrounds a run."""

from collections.abc import Mapping

from fabric.providers.connections import Connections
from fabric.providers.edge1.api import Edge1Api
from fabric.providers.edge1.make import account_in
from fabric.providers.edge1.routing.backend import Edge1Routing
from fabric.providers.redaction import redaction_of


def edge1_routing(env: Mapping[str, str], connections: Connections) -> Edge1Routing:
    account = account_in(env, ("EDGE1_API_TOKEN", "EDGE1_ACCOUNT_ID", "EDGE1_ZONE_ID"))
    token = account.token.reveal()
    key = ("edge1", account.base_url, account.account, account.zone, token)
    api = connections.shared(key, lambda: Edge1Api(account))
    return Edge1Routing(api, redaction_of((token,), env.items()))
