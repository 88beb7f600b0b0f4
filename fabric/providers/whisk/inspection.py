"""Check the identity and the resources of a service other than its functions."""

from collections.abc import Iterator

from fabric.providers.contract import DeploymentAddress
from fabric.providers.http_calls import ProviderCall
from fabric.providers.release_state import read_kept_texts
from fabric.providers.whisk.clocks import Clocks
from fabric.providers.whisk.release_state import CLOCKS
from fabric.providers.whisk.resource_names import package_name
from fabric.providers.whisk.work import WhiskWork


def find_missing(work: WhiskWork, address: DeploymentAddress, clocks: Clocks) -> Iterator[str]:
    """Yield the missing resources of the last release."""
    texts = read_kept_texts(address).texts
    told = [text for name, text in texts.items() if name.startswith(CLOCKS)]
    wanted = [pair.rpartition("=")[0] for text in told for pair in text.split()]
    there = clocks.there(work, package_name(address)) if wanted else {}
    yield from (f"the trigger `{ident}`" for ident in wanted if ident not in there)


def fetch_identity(work: WhiskWork) -> str:
    work.ask(ProviderCall("GET", "/packages?limit=1"), object)
    host = work.api.door.base_url.partition("://")[2]
    return f"a key with read access to packages of `{work.place.namespace}` at {host}"
