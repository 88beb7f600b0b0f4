"""The use of a shared cache in a run."""

from fabric.model.outcomes.json_struct import JsonStruct


class RemoteUse(JsonStruct, frozen=True):
    """`hits` are results taken from the shared cache. `ms` is the total wait time."""

    hits: int
    fetched_bytes: int
    sent_bytes: int
    ms: int
