"""Open the Route 53 backend of routers from the environment."""

from fabric.providers.cloud1.provider import build_client_factory
from fabric.providers.cloud1.routing.backend import Cloud1Routing
from fabric.providers.core.provider import ProviderContext


def open_cloud1_routing(context: ProviderContext) -> Cloud1Routing:
    return Cloud1Routing(build_client_factory(context), context.build_redaction())
