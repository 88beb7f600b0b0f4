"""What a service has at cloud4 besides its functions: whether it is still there; and who we are."""

from collections.abc import Iterator

from fabric.providers.cloud4.api import Cloud4Call
from fabric.providers.cloud4.kept import CLOCKS, ROUTE
from fabric.providers.cloud4.own_settings import function_name
from fabric.providers.cloud4.triggers import ROUTE_TRIGGER, triggers_of
from fabric.providers.cloud4.work import Cloud4Work
from fabric.providers.contract import DeploymentAddress
from fabric.providers.kept_texts import kept_texts


def lost(work: Cloud4Work, address: DeploymentAddress) -> Iterator[str]:
    """Of what the last release made."""
    texts = kept_texts(address).texts
    record = address.previous
    for function in record.functions if record else ():
        told = texts.get(CLOCKS + function.name, "").split()
        wanted = [pair.rpartition("=")[0] for pair in told]
        wanted += [ROUTE_TRIGGER] if texts.get(ROUTE + function.name) else []
        name = function.resource_name or function_name(address, function.name)
        there = {one.trigger_name for one in triggers_of(work, name)} if wanted else set()
        yield from (f"the trigger `{one}` of `{name}`" for one in wanted if one not in there)


def identity(work: Cloud4Work) -> str:
    """Whom cloud4 takes us for, and whether we may look at functions: asked without a change."""
    work.ask(Cloud4Call("ListFunctions", "GET", query=(("limit", "1"),)), object)
    return f"the key {work.api.key.ident}, with read access to functions in `{work.place.region}`"
