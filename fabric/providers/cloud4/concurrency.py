"""Reserved concurrency of functions on Alibaba Cloud, which belongs to the function and not to a
version."""

from msgspec import Struct

from fabric.providers.cloud4.api import Cloud4Call, build_cloud4_call
from fabric.providers.cloud4.work import Cloud4Work

_PART = "concurrency"


class _ConcurrencyRow(Struct, frozen=True, rename="camel"):
    reserved_concurrency: int | None = None


def set_concurrency(work: Cloud4Work, name: str, wanted: int | None) -> None:
    """Set the reserved concurrency. None means the account's remaining capacity."""
    call = Cloud4Call("GetConcurrencyConfig", "GET", (name, _PART))
    row = work.look(call, _ConcurrencyRow)
    there = row.reserved_concurrency if row else None
    if (there or None) == wanted:
        return
    if wanted is None:
        work.delete("DeleteConcurrencyConfig", name, _PART)
        return
    document = {"reservedConcurrency": wanted}
    work.ask(build_cloud4_call("PutConcurrencyConfig", "PUT", (name, _PART), document), object)
