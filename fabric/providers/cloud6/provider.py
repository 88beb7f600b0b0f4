"""Create the IBM Cloud deployer from the environment: OpenWhisk installation and key."""

import base64
from collections.abc import Mapping

from fabric.model.hosts import extract_host, is_name_in_host
from fabric.model.problems import FabricError, Problem
from fabric.model.secret import Secret
from fabric.providers.cloud6.events import Alarms
from fabric.providers.core.errors import refuse_other_host, refuse_plain, require_variables
from fabric.providers.core.provider import Provider, ProviderContext
from fabric.providers.whisk.client import (
    WhiskApi,
    WhiskDoor,
    WhiskPlace,
    WhiskTitles,
    build_refusal_classifier,
    refuse_ways_out,
)
from fabric.providers.whisk.deployer import WhiskFunctions, WhiskProvider
from fabric.providers.whisk.functions import WhiskRuntimes
from fabric.providers.whisk.limits import WhiskLimits

_ID = "cloud6-functions"
_KEY, _REGION, _NAMESPACE = "CLOUD6_API_KEY", "CLOUD6_REGION", "CLOUD6_NAMESPACE"
_HOST, _BASE_URL = "CLOUD6_API_HOST", "CLOUD6_API_BASE_URL"
_RUNTIMES = WhiskRuntimes(
    ("18", "20", "22", "24"),
    ("3.9", "3.10", "3.11", "3.12", "3.13", "3.14"),
    "use nodejs18.x to nodejs24.x, or python3.9 to python3.14, as far as your OpenWhisk "
    "installation supports them",
)
_LIMITS = WhiskLimits("OpenWhisk", _RUNTIMES, has_zones=True)
_JUDGED = build_refusal_classifier(
    "cloud6",
    f"check `{_KEY}`, which has the form user:password",
    f"check `{_NAMESPACE}`: the key must belong to this namespace",
)


def open_cloud6_deployer(context: ProviderContext) -> WhiskFunctions:
    env = context.env
    hide = context.build_redaction(*_list_key_parts(env.get(_KEY, "")))
    url = _read_url(env)
    place = WhiskPlace(env.get(_NAMESPACE, ""), extract_host(url))

    def connect() -> WhiskApi:
        """Connect and require credentials only here: settings can be checked without them."""
        door = _read_door(env, url)
        key = ("cloud6", door.base_url, door.namespace, door.key.reveal())
        return context.connections.find_or_make(key, lambda: WhiskApi(_ID, lambda _http: door))

    provider = WhiskProvider(WhiskTitles(_ID, "OpenWhisk"), _LIMITS, _JUDGED, connect, Alarms())
    return WhiskFunctions(hide=hide, provider=provider, place=place)


def _list_key_parts(key: str) -> tuple[str, ...]:
    return (key, key.partition(":")[2])


def _read_url(env: Mapping[str, str]) -> str:
    """Return the URL; the variable can contain a host without a scheme."""
    said = env.get(_BASE_URL) or env.get(_HOST) or ""
    if not said:
        region = env.get(_REGION, "")
        return f"https://{region}.functions.cloud.ibm.com" if is_name_in_host(region) else ""
    return said if "://" in said else f"https://{said}"


def _read_door(env: Mapping[str, str], url: str) -> WhiskDoor:
    require_variables(_ID, env, (_KEY, _REGION, _NAMESPACE), any_letters=(_NAMESPACE,))
    if not url:
        refuse_other_host(_REGION, env[_REGION])
    key, namespace = env[_KEY], env[_NAMESPACE]
    if ":" not in key:
        message, hint = f"`{_KEY}` is not a valid OpenWhisk key", "use the form user:password"
        raise FabricError(Problem("credentials/unreadable", message, hint))
    refuse_ways_out(_NAMESPACE, namespace)
    if namespace == "_":
        message = f"`{_NAMESPACE}` is `_`, and function URLs require the real name"
        hint = "run: wsk namespace list"
        raise FabricError(Problem("credentials/unreadable", message, hint))
    refuse_plain(_BASE_URL if env.get(_BASE_URL) else _HOST, url)
    login = base64.b64encode(key.encode()).decode()
    return WhiskDoor(url, namespace, Secret(f"Basic {login}"), Secret(key))


PROVIDER = Provider(open_deployer=open_cloud6_deployer)
