"""The identity of the Google Cloud credentials, and whether they can read functions. Changes
nothing."""

from fabric.providers.cloud2.api import FUNCTIONS
from fabric.providers.cloud2.work import Cloud2Work
from fabric.providers.http_calls import ProviderCall


def fetch_identity(work: Cloud2Work) -> str:
    path = f"/v2/{work.place.path}/functions?pageSize=1"
    work.ask(FUNCTIONS, ProviderCall("GET", path), object)
    return f"{work.api.caller}, with read access to functions of `{work.place.path}`"
