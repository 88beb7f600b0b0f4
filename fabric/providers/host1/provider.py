"""Create the Vercel deployer from the environment: project, token and endpoint."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

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
from fabric.providers.core.static_files import find_static_problems
from fabric.providers.core.whole_service import (
    SharedEnvironment,
    WholeDeployer,
    WholeOperations,
    refuse_single,
)
from fabric.providers.core.work import CallScope
from fabric.providers.host1.client import Host1Account, Host1Api, classify_refusal
from fabric.providers.host1.functions import Host1Work
from fabric.providers.host1.limits import find_unsupported
from fabric.providers.host1.output import ENVIRONMENT
from fabric.providers.host1.path_rules import PathRules, find_rule_problems
from fabric.providers.host1.projects import deploy_orders, fetch_identity
from fabric.providers.host1.release import (
    ONE_DOMAIN,
    PROJECT,
    delete_service,
    find_active_version,
    find_by_mark,
    find_missing,
    find_versions_by_marks,
    release_service,
)

_STATIC = ("extensions", "host1", "static")

_OFFICIAL = "https://api.vercel.com"
_TOKEN, _PROJECT = "HOST1_TOKEN", "HOST1_PROJECT_ID"
_TEAM, _SITES, _DOMAIN = "HOST1_ORG_ID", "HOST1_SITES_URL", "{domain}"


class Host1Projects(WholeDeployer[Host1Work], frozen=True, kw_only=True):
    """The Vercel deployer."""

    operations: WholeOperations[Host1Work] = WholeOperations(
        deploy=deploy_orders,
        release=release_service,
        delete_functions=refuse_single("Vercel", f"{ONE_DOMAIN} deployment"),
        delete_service=delete_service,
        find_active=find_active_version,
        find_by_mark=find_by_mark,
        find_versions=find_versions_by_marks,
        find_missing=find_missing,
        fetch_identity=fetch_identity,
        convert_errors=partial(convert_refusals, judged=classify_refusal),
    )
    environment: SharedEnvironment = ENVIRONMENT
    connect: Callable[[], Host1Api]
    own: PathRules

    def _open_work(self, scope: CallScope) -> Host1Work:
        return Host1Work(api=self.connect(), scope=scope, rules=self.own)

    def unfit(
        self, address: DeploymentAddress, functions: Sequence[FunctionDraft]
    ) -> Sequence[Unsupported]:
        static = find_static_problems(self.own.static, functions, _STATIC, needs_function=False)
        return (*find_rule_problems(self.own), *find_unsupported(address, functions), *static)


def open_host1_deployer(context: ProviderContext) -> Host1Projects:
    env = context.env
    return Host1Projects(
        connect=partial(context.connect, _read_account, Host1Api),
        own=context.read_settings(PathRules),
        place=CurrentOwner(PROJECT, _PROJECT, env.get(_PROJECT, "")),
        hide=context.build_redaction(env.get(_TOKEN, "")),
    )


def _read_account(env: Mapping[str, str]) -> Host1Account:
    require_variables("host1", env, (_TOKEN, _PROJECT))
    base_url = env.get("HOST1_API_BASE_URL") or _OFFICIAL
    refuse_plain("HOST1_API_BASE_URL", base_url)
    team, sites = env.get(_TEAM, ""), env.get(_SITES, "")
    refuse_unsendable(_TEAM, team)
    refuse_address_form(_SITES, sites, _DOMAIN)
    return Host1Account(base_url, Secret(env[_TOKEN]), env[_PROJECT], team, sites)


PROVIDER = Provider(open_deployer=open_host1_deployer)
