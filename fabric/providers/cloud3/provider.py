"""Create the Azure deployer and observer from the environment: identity, resource group and
workspace."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from fabric.model.problems import Problem
from fabric.model.records.record import Record
from fabric.model.secrets.secret import Secret
from fabric.providers.cloud3.client import (
    APP,
    MANAGEMENT,
    PROVIDER_ID,
    SITES,
    STORAGE,
    Cloud3Account,
    Cloud3Api,
    Cloud3Settings,
    Cloud3Work,
    classify_refusal,
)
from fabric.providers.cloud3.functions import (
    deploy_orders,
    fetch_identity,
    find_active_version,
    find_by_mark,
    find_versions_by_marks,
)
from fabric.providers.cloud3.hosting import FLEX
from fabric.providers.cloud3.limits import find_unsupported
from fabric.providers.cloud3.observe import Cloud3Observer, Cloud3Workspace
from fabric.providers.cloud3.package import ENVIRONMENT
from fabric.providers.cloud3.release import (
    ONE_VERSION,
    PLAN,
    SUBSCRIPTION,
    delete_service,
    find_missing,
    release_service,
)
from fabric.providers.cloud3.tokens import (
    LOGIN,
    LOGS_AUDIENCE,
    Cloud3Identity,
    request_token,
)
from fabric.providers.core.contract import DeploymentAddress, FunctionDraft, Unsupported
from fabric.providers.core.errors import (
    convert_refusals,
    refuse_address_form,
    refuse_plain,
    require_variables,
)
from fabric.providers.core.http_calls import open_provider_http
from fabric.providers.core.ownership import CurrentOwner, find_owner_conflict
from fabric.providers.core.provider import Provider, ProviderContext
from fabric.providers.core.whole_service import (
    SharedEnvironment,
    WholeDeployer,
    WholeOperations,
    refuse_single,
)
from fabric.providers.core.work import CallScope
from fabric.system.clock import SystemClock
from fabric.system.crypto.signed_tokens import StoredToken
from fabric.system.http.http_client import Http

_TENANT, _CLIENT, _SECRET = "CLOUD3_TENANT_ID", "CLOUD3_CLIENT_ID", "CLOUD3_CLIENT_SECRET"
_SUBSCRIPTION, _GROUP = "CLOUD3_SUBSCRIPTION_ID", "CLOUD3_RESOURCE_GROUP"
_TOKEN_FILE = "CLOUD3_FEDERATED_TOKEN_FILE"  # noqa: S105 - the name of a variable
_MANAGEMENT, _LOGIN = "CLOUD3_MANAGEMENT_URL", "CLOUD3_LOGIN_URL"
_STORAGE, _SITES = "CLOUD3_STORAGE_URL", "CLOUD3_SITES_URL"
_LOGS = "https://api.loganalytics.azure.com"
_TOKEN, _WORKSPACE = "CLOUD3_ACCESS_TOKEN", "CLOUD3_LOG_ANALYTICS_WORKSPACE_ID"
_LOGS_URL = "CLOUD3_API_BASE_URL"


class Cloud3Functions(WholeDeployer[Cloud3Work], frozen=True, kw_only=True):
    """The Azure deployer."""

    operations: WholeOperations[Cloud3Work] = WholeOperations(
        deploy=deploy_orders,
        release=release_service,
        delete_functions=refuse_single("Azure", f"{ONE_VERSION} version"),
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
    own: Cloud3Settings
    subscription: str
    connect: Callable[[], Cloud3Api]

    def _open_work(self, scope: CallScope) -> Cloud3Work:
        return Cloud3Work(api=self.connect(), scope=scope, own=self.own)

    def unfit(
        self, address: DeploymentAddress, functions: Sequence[FunctionDraft]
    ) -> Sequence[Unsupported]:
        return tuple(find_unsupported(self.own, address, functions))

    def elsewhere(self, record: Record) -> Problem | None:
        name = f"extensions.{PROVIDER_ID}.appName"
        there = (
            CurrentOwner(SUBSCRIPTION, _SUBSCRIPTION, self.subscription),
            CurrentOwner(APP, name, self.own.app_name),
        )
        plan = CurrentOwner(PLAN, f"extensions.{PROVIDER_ID}.sku", self.own.sku)
        # Earlier versions of fabric noted no plan.
        earlier = FLEX if record.kept and PLAN not in dict(record.kept) else ""
        found = (
            *(find_owner_conflict(record, (), one) for one in there),
            find_owner_conflict(record, (earlier,), plan),
        )
        return next(filter(None, found), None) or super().elsewhere(record)

    @property
    def sole_place(self) -> str:
        """A resource group contains any number of services, each in a separate app."""
        return f"the function app `{self.own.app_name}`" if self.own.app_name else ""


def open_cloud3_deployer(context: ProviderContext) -> Cloud3Functions:
    env = context.env
    return Cloud3Functions(
        connect=partial(context.connect, partial(_read_account, context), Cloud3Api),
        own=context.read_settings(Cloud3Settings),
        subscription=env.get(_SUBSCRIPTION, ""),
        place=CurrentOwner("resource group", _GROUP, env.get(_GROUP, "")),
        hide=context.build_redaction(env.get(_SECRET, "")),
    )


def _read_account(context: ProviderContext, env: Mapping[str, str]) -> Cloud3Account:
    identity = _read_identity(context, env, (_SUBSCRIPTION, _GROUP))
    base_url = env.get(_MANAGEMENT) or MANAGEMENT
    storage, sites = env.get(_STORAGE) or STORAGE, env.get(_SITES) or SITES
    for name, url in ((_MANAGEMENT, base_url), (_STORAGE, storage), (_SITES, sites)):
        refuse_plain(name, url.replace("{account}.{service}.", "").replace("{host}", "host"))
    refuse_address_form(_SITES, sites, "{host}")
    refuse_address_form(_STORAGE, storage.replace("{service}", "blob"), "{account}")
    return Cloud3Account(
        identity=identity,
        subscription=env[_SUBSCRIPTION],
        group=env[_GROUP],
        base_url=base_url,
        storage=storage,
        sites=sites,
    )


def _read_identity(
    context: ProviderContext, env: Mapping[str, str], more: Sequence[str] = ()
) -> Cloud3Identity:
    """Read the identity. A secret takes precedence over a token file of workload identity."""
    has_file = bool(env.get(_TOKEN_FILE)) and not env.get(_SECRET)
    names = (_TENANT, _CLIENT, *(() if has_file else (_SECRET,)), *more)
    require_variables(PROVIDER_ID, env, names, any_letters=(_SECRET,))
    login = env.get(_LOGIN) or LOGIN
    refuse_plain(_LOGIN, login)
    path = context.around.cwd / env.get(_TOKEN_FILE, "")
    return Cloud3Identity(
        login_url=login,
        tenant=env[_TENANT],
        client=env[_CLIENT],
        secret=Secret(env.get(_SECRET, "")),
        token_file=str(path) if has_file else "",
    )


def open_cloud3_observer(context: ProviderContext) -> Cloud3Observer:
    """Open the observer. Raises if required variables are not set."""
    env = context.env
    given = env.get(_TOKEN, "")
    require_variables(PROVIDER_ID, env, (_WORKSPACE, *((_TOKEN,) if _is_bare(env) else ())))
    base_url = env.get(_LOGS_URL) or _LOGS
    refuse_plain(_LOGS_URL, base_url)
    http = context.connections.find_or_make(
        ("cloud3", base_url), lambda: open_provider_http(PROVIDER_ID)
    )
    token = (lambda: given) if given else _hold_logs_token(http, _read_identity(context, env))
    workspace = Cloud3Workspace(base_url, token, env[_WORKSPACE])
    return Cloud3Observer(http, workspace, context.build_redaction(given, env.get(_SECRET, "")))


def _hold_logs_token(http: Http, identity: Cloud3Identity) -> Callable[[], str]:
    """Request tokens for logs with the identity of deploys: those are for another audience."""
    return StoredToken(lambda: request_token(http, identity, LOGS_AUDIENCE), SystemClock()).token


def _is_bare(env: Mapping[str, str]) -> bool:
    """Return whether no identity is set that could request a token of logs."""
    return not env.get(_CLIENT)


PROVIDER = Provider(open_deployer=open_cloud3_deployer, open_observer=open_cloud3_observer)
