"""Create the Google Cloud deployer from the environment: project, token and endpoint."""

from collections.abc import Mapping
from functools import partial
from urllib.parse import quote

from fabric.model.problems import FabricError, Problem
from fabric.providers.cloud2.client import KEY, TOKEN, Cloud2Api, choose_login
from fabric.providers.cloud2.deployer import Cloud2Functions
from fabric.providers.cloud2.observe import Cloud2Observer
from fabric.providers.cloud2.work import REGION, Cloud2Place, Cloud2Settings
from fabric.providers.core.errors import refuse_plain, refuse_unsendable
from fabric.providers.core.provider import Provider, ProviderContext

_PROJECT, _OTHER_NAME = "CLOUD2_PROJECT_ID", "CLOUD2_PROJECT"
_BASE_URL, _REGION = "CLOUD2_API_BASE_URL", "CLOUD2_REGION"


def open_cloud2_deployer(context: ProviderContext) -> Cloud2Functions:
    env = context.env
    return Cloud2Functions(
        connect=partial(_connect, context),
        own=context.read_settings(Cloud2Settings),
        place=_place(env),
        hide=context.build_redaction(*_list_secrets(env)),
    )


def open_cloud2_observer(context: ProviderContext) -> Cloud2Observer:
    """Open the observer. Raises if required variables are not set."""
    env = context.env
    hide = context.build_redaction(*_list_secrets(env))
    return Cloud2Observer(_connect(context), _place(env), hide)


def _place(env: Mapping[str, str]) -> Cloud2Place:
    """Read project and region, URL-quoted. Both are part of every path, and a `.env` must not
    redirect the token."""
    project = env.get(_PROJECT) or env.get(_OTHER_NAME) or ""
    return Cloud2Place(quote(project, safe=":"), quote(env.get(_REGION) or REGION, safe=""))


def _connect(context: ProviderContext) -> Cloud2Api:
    """Connect and require credentials only here: settings can be checked without them."""
    env, project = context.env, _place(context.env).project
    _require(project, env)
    login = choose_login(env, context.around.cwd)
    base_url = env.get(_BASE_URL) or ""
    refuse_plain(_BASE_URL, base_url)
    key = ("cloud2", base_url, project, *_list_secrets(env))
    return context.connections.find_or_make(key, lambda: Cloud2Api(base_url, login))


def _list_secrets(env: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(filter(None, (env.get(TOKEN), env.get(KEY))))


def _require(project: str, env: Mapping[str, str]) -> None:
    """Report all missing variables together. Either a token or a key is enough."""
    asked = {f"`{_PROJECT}`": bool(project), f"`{TOKEN}` or `{KEY}`": bool(_list_secrets(env))}
    missing = " and ".join(names for names, is_there in asked.items() if not is_there)
    if missing:
        hint = f"set {missing} in the environment or in `.env` beside the config"
        message = f"missing credentials for Google Cloud (`cloud2-functions`): set {missing}"
        raise FabricError(Problem("credentials/missing", message, hint))
    for name in (_PROJECT, _OTHER_NAME, TOKEN, _REGION):
        refuse_unsendable(name, env.get(name) or "")


PROVIDER = Provider(open_deployer=open_cloud2_deployer, open_observer=open_cloud2_observer)
