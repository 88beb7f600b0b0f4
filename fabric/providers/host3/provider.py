"""Create the Fly deployer from the environment: app, token and endpoint."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from fabric.model.problems import FabricError, Problem
from fabric.model.secrets.secret import Secret
from fabric.providers.core.contract import DeploymentAddress, FunctionDraft, Unsupported
from fabric.providers.core.errors import (
    convert_refusals,
    refuse_address_form,
    refuse_plain,
    refuse_unsendable,
    require_variables,
)
from fabric.providers.core.ownership import CurrentOwner
from fabric.providers.core.provider import Provider, ProviderContext
from fabric.providers.core.whole_service import (
    SharedEnvironment,
    WholeDeployer,
    WholeOperations,
    refuse_single,
)
from fabric.providers.core.work import CallScope
from fabric.providers.host3.client import (
    OFFICIAL,
    REGISTRY,
    SITES,
    Host3Account,
    Host3Api,
    Host3Settings,
    Host3Work,
    classify_refusal,
)
from fabric.providers.host3.documents import ENVIRONMENT
from fabric.providers.host3.functions import (
    deploy_orders,
    fetch_identity,
    find_active_version,
    find_by_mark,
    find_versions_by_marks,
)
from fabric.providers.host3.limits import find_unsupported
from fabric.providers.host3.release import (
    APP,
    ONE_VERSION,
    delete_service,
    find_missing,
    release_service,
)

if TYPE_CHECKING:
    from fabric.system.registries.push import Registries

_TOKEN, _APP, _ORG, _IMAGE = "HOST3_API_TOKEN", "HOST3_APP_NAME", "HOST3_ORG_ID", "HOST3_IMAGE"
_BASE, _SITES, _RATE = "HOST3_API_BASE_URL", "HOST3_SITES_URL", "HOST3_CALLS_PER_SECOND"
_REGISTRY = "HOST3_REGISTRY"
# The configuration of Fly's own tools contains tokens with these.
_SCHEMES = ("FlyV1 ", "Bearer ")


class Host3Machines(WholeDeployer[Host3Work], frozen=True, kw_only=True):
    """The Fly deployer."""

    operations: WholeOperations[Host3Work] = WholeOperations(
        deploy=deploy_orders,
        release=release_service,
        delete_functions=refuse_single("Fly", f"{ONE_VERSION} version"),
        delete_service=delete_service,
        find_active=find_active_version,
        find_by_mark=find_by_mark,
        find_versions=find_versions_by_marks,
        find_missing=find_missing,
        fetch_identity=fetch_identity,
        convert_errors=partial(convert_refusals, judged=classify_refusal),
    )
    environment: SharedEnvironment = ENVIRONMENT
    # The settings of this provider's config section.
    own: Host3Settings
    connect: Callable[[], Host3Api]
    open_registries: Callable[[], "Registries"]

    def _open_work(self, scope: CallScope) -> Host3Work:
        return Host3Work(
            api=self.connect(), scope=scope, own=self.own, open_registries=self.open_registries
        )

    def unfit(
        self, address: DeploymentAddress, functions: Sequence[FunctionDraft]
    ) -> Sequence[Unsupported]:
        return tuple(find_unsupported(self.own, address, functions))


def open_host3_deployer(context: ProviderContext) -> Host3Machines:
    env = context.env
    token = env.get(_TOKEN, "")

    def open_registries() -> "Registries":
        from fabric.system.registries.credentials import RegistryLogin  # only for images

        login = RegistryLogin("x", Secret(_strip_scheme(token)))
        return context.open_registries({env.get(_REGISTRY) or REGISTRY: login})

    return Host3Machines(
        connect=partial(context.connect, _read_account, Host3Api),
        own=context.read_settings(Host3Settings),
        open_registries=open_registries,
        place=CurrentOwner(APP, _APP, env.get(_APP, "")),
        hide=context.build_redaction(token, _strip_scheme(token)),
    )


def _read_account(env: Mapping[str, str]) -> Host3Account:
    require_variables("host3-machines", env, (_TOKEN, _APP), any_letters=(_TOKEN,))
    token = _strip_scheme(env[_TOKEN])
    refuse_unsendable(_TOKEN, token)
    for name in (_ORG, _IMAGE, _REGISTRY):
        refuse_unsendable(name, env.get(name, ""))
    base_url, sites = env.get(_BASE) or OFFICIAL, env.get(_SITES) or SITES
    refuse_plain(_BASE, base_url)
    refuse_address_form(_SITES, sites, "{app}")
    return Host3Account(
        base_url=base_url,
        token=Secret(token),
        app=env[_APP],
        org=env.get(_ORG, ""),
        image=env.get(_IMAGE, ""),
        registry=env.get(_REGISTRY) or REGISTRY,
        sites=sites,
        calls_per_second=_read_rate(env.get(_RATE) or "1"),
    )


def _strip_scheme(token: str) -> str:
    for scheme in _SCHEMES:
        token = token.removeprefix(scheme)
    return token


def _read_rate(text: str) -> float:
    try:
        rate = float(text)
    except ValueError:
        rate = 0.0
    if not 0 < rate <= 1_000_000:  # noqa: PLR2004
        message = f"`{_RATE}` is not a number of calls per second"
        raise FabricError(Problem("credentials/unreadable", message, "use a number such as 1"))
    return rate


PROVIDER = Provider(open_deployer=open_host3_deployer)
