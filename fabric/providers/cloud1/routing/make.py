"""Create the Route 53 backend of routers from the environment."""

from collections.abc import Mapping

from fabric.providers.cloud1.make import clients_of
from fabric.providers.cloud1.routing.backend import Cloud1Routing
from fabric.providers.connections import Connections
from fabric.providers.redaction import redaction_of


def cloud1_routing(env: Mapping[str, str], connections: Connections) -> Cloud1Routing:
    return Cloud1Routing(clients_of(env, connections), redaction_of((), env.items()))
