"""Which exports of a module count as its handler, where a provider calls more than `handler`."""

import re

from msgspec.structs import replace

from fabric.model.conventions import AS_EVENTS, find_conventions
from fabric.model.task_inputs import BuildInputs

# What an entry may name behind its module; a file has its extension there.
_EXPORT = re.compile(r"\.(?!(?:[cm]?[jt]s|[jt]sx|py)$)([^./]+)$")


def with_handlers(provider_id: str, inputs: BuildInputs) -> BuildInputs:
    """Add the handlers that the provider calls, unless the entry or the convention already
    determines them."""
    calls = find_conventions(provider_id).of(inputs.runtime)
    named = _EXPORT.search(inputs.entry)
    if calls == AS_EVENTS.of(inputs.runtime) or (named and named[1] != "default"):
        return inputs
    return replace(inputs, handlers=() if named else calls.names, methods=calls.methods)
