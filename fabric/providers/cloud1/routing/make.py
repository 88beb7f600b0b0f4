"""Create the Route 53 backend of routers from the environment."""

from collections.abc import Mapping

from fabric.providers.cloud1.make import build_client_factory
from fabric.providers.cloud1.routing.backend import Cloud1Routing
from fabric.providers.connections import Connections
from fabric.providers.redaction import build_redaction


def open_cloud1_routing(env: Mapping[str, str], connections: Connections) -> Cloud1Routing:
    return Cloud1Routing(build_client_factory(env, connections), build_redaction((), env.items()))
