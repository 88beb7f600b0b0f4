"""Opens AWS from the environment: account, role and endpoint."""

from collections.abc import Callable

from msgspec.structs import replace

from fabric.providers.cloud1.client import Cloud1Clients
from fabric.providers.cloud1.deployer import Cloud1Lambda
from fabric.providers.cloud1.observe import Cloud1Observer
from fabric.providers.cloud1.versions import OwnSettings
from fabric.providers.core.provider import Provider, ProviderContext
from fabric.system.cloud1_account import resolve_cloud1_account

_ENDPOINTS = ("CLOUD1_API_BASE_URL", "AWS_ENDPOINT_URL")
_ROLE = "FABRIC_CLOUD1_LAMBDA_ROLE_ARN"


def open_cloud1_deployer(context: ProviderContext) -> Cloud1Lambda:
    """Open the deployer. A role in the config takes precedence over the environment."""
    said = context.read_settings(OwnSettings)
    own = replace(said, role_arn=said.role_arn or context.env.get(_ROLE, ""))
    return Cloud1Lambda(
        connect=build_client_factory(context), own=own, hide=context.build_redaction()
    )


def open_cloud1_observer(context: ProviderContext) -> Cloud1Observer:
    return Cloud1Observer(build_client_factory(context), context.build_redaction())


def build_client_factory(context: ProviderContext) -> Callable[[str], Cloud1Clients]:
    account = resolve_cloud1_account(context.env, _ENDPOINTS)

    def connect(region: str) -> Cloud1Clients:
        asked = replace(account, region=region or account.region)
        return context.connections.find_or_make(("cloud1", asked), lambda: Cloud1Clients(asked))

    return connect


PROVIDER = Provider(open_deployer=open_cloud1_deployer, open_observer=open_cloud1_observer)
