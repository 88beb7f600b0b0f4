"""Create the Netlify deployer from the environment: site, token and endpoint."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from fabric.model.secrets.secret import Secret
from fabric.providers.core.contract import DeploymentAddress, FunctionDraft, Unsupported
from fabric.providers.core.errors import convert_refusals, refuse_plain, require_variables
from fabric.providers.core.ownership import CurrentOwner
from fabric.providers.core.provider import Provider, ProviderContext
from fabric.providers.core.static_files import find_static_problems
from fabric.providers.core.whole_service import (
    SharedEnvironment,
    WholeDeployer,
    WholeOperations,
    refuse_single,
)
from fabric.providers.core.work import CallScope
from fabric.providers.host2.client import Host2Account, Host2Api, classify_refusal
from fabric.providers.host2.functions import Host2Work, fetch_identity
from fabric.providers.host2.limits import find_unsupported
from fabric.providers.host2.making import deploy_orders
from fabric.providers.host2.redirects import SiteRules, find_redirect_problems
from fabric.providers.host2.release import (
    ONE_DEPLOY,
    SITE,
    delete_service,
    find_active_version,
    find_by_mark,
    find_missing,
    find_versions_by_marks,
    release_service,
)
from fabric.providers.host2.uploads import ENVIRONMENT

_STATIC = ("extensions", "host2", "static")

_OFFICIAL = "https://api.netlify.com/api/v1"
_TOKEN, _SITE = "HOST2_AUTH_TOKEN", "HOST2_SITE_ID"


class Host2Sites(WholeDeployer[Host2Work], frozen=True, kw_only=True):
    """The Netlify deployer."""

    operations: WholeOperations[Host2Work] = WholeOperations(
        deploy=deploy_orders,
        release=release_service,
        delete_functions=refuse_single("Netlify", f"{ONE_DEPLOY} deploy"),
        delete_service=delete_service,
        find_active=find_active_version,
        find_by_mark=find_by_mark,
        find_versions=find_versions_by_marks,
        find_missing=find_missing,
        fetch_identity=fetch_identity,
        convert_errors=partial(convert_refusals, judged=classify_refusal),
    )
    environment: SharedEnvironment = ENVIRONMENT
    connect: Callable[[], Host2Api]
    own: SiteRules

    def _open_work(self, scope: CallScope) -> Host2Work:
        return Host2Work(api=self.connect(), scope=scope, rules=self.own)

    def unfit(
        self, address: DeploymentAddress, functions: Sequence[FunctionDraft]
    ) -> Sequence[Unsupported]:
        static = find_static_problems(self.own.static, functions, _STATIC, needs_function=False)
        return (*find_redirect_problems(self.own), *find_unsupported(address, functions), *static)


def open_host2_deployer(context: ProviderContext) -> Host2Sites:
    env = context.env
    return Host2Sites(
        connect=partial(context.connect, _read_account, Host2Api),
        own=context.read_settings(SiteRules),
        place=CurrentOwner(SITE, _SITE, env.get(_SITE, "")),
        hide=context.build_redaction(env.get(_TOKEN, "")),
    )


def _read_account(env: Mapping[str, str]) -> Host2Account:
    require_variables("host2", env, (_TOKEN, _SITE))
    base_url = env.get("HOST2_API_BASE_URL") or _OFFICIAL
    refuse_plain("HOST2_API_BASE_URL", base_url)
    return Host2Account(base_url, Secret(env[_TOKEN]), env[_SITE])


PROVIDER = Provider(open_deployer=open_host2_deployer)
