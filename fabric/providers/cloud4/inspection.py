"""Check the identity and the resources of a service on Alibaba Cloud other than its functions."""

from collections.abc import Iterator

from fabric.providers.cloud4.api import Cloud4Call
from fabric.providers.cloud4.release_state import CLOCKS, ROUTE
from fabric.providers.cloud4.settings import build_function_name
from fabric.providers.cloud4.triggers import ROUTE_TRIGGER, list_triggers
from fabric.providers.cloud4.work import Cloud4Work
from fabric.providers.contract import DeploymentAddress
from fabric.providers.release_state import read_kept_texts


def find_missing(work: Cloud4Work, address: DeploymentAddress) -> Iterator[str]:
    """Yield the missing resources of the last release."""
    texts = read_kept_texts(address).texts
    record = address.previous
    for function in record.functions if record else ():
        told = texts.get(CLOCKS + function.name, "").split()
        wanted = [pair.rpartition("=")[0] for pair in told]
        wanted += [ROUTE_TRIGGER] if texts.get(ROUTE + function.name) else []
        name = function.resource_name or build_function_name(address, function.name)
        there = {one.trigger_name for one in list_triggers(work, name)} if wanted else set()
        yield from (f"the trigger `{one}` of `{name}`" for one in wanted if one not in there)


def fetch_identity(work: Cloud4Work) -> str:
    """Fetch the identity of the credentials and check read access to functions. Changes nothing."""
    work.ask(Cloud4Call("ListFunctions", "GET", query=(("limit", "1"),)), object)
    return f"the key {work.api.key.ident}, with read access to functions in `{work.place.region}`"
