"""What a shared cache did for a run."""

from fabric.model.outcomes.json_struct import JsonStruct


class RemoteUse(JsonStruct, frozen=True):
    """`hits` are results of others that were taken; `ms` is how long the run waited in all."""

    hits: int
    fetched_bytes: int
    sent_bytes: int
    ms: int
