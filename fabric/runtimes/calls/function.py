"""A function as it is called on this machine: its archive, and what is told to it."""

from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from fabric.model.conventions import Convention
from fabric.model.secret import NO_PAIRS, Secret
from fabric.model.task import Pairs


class CallingProvider(Struct, frozen=True):
    """How a provider calls a function, and what it says of it; empty and 0 are unknown.

    `kinds` are those of its triggers, `path` and `schedule` the first ones of theirs; `resource` is
    its name at the provider. `is_lambda`: it has that runtime's variables and its global.
    """

    convention: Convention = Convention.EVENT
    names: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    path: str = "/"
    host: str = "localhost"
    schedule: str = ""
    memory: int = 0
    region: str = ""
    resource: str = ""
    is_lambda: bool = False


AS_EVENT = CallingProvider(names=("default",))


class CodeArchive(Struct, frozen=True):
    """An archive that is read once a child wants it."""

    sha256: str
    read: Callable[[], bytes]


def _as_it_is(text: str) -> str:
    return text


class LocalFunction(Struct, frozen=True):
    """`handler` is `<module path in the archive>.<export>`.

    `brought` are packages that the provider's runtime has: each name with the folder that stands
    for it here. They are no part of the archive. `caller` is what the provider is to the handler.
    `memory` are the megabytes that it may use, 0 any. `hide` takes what is secret out of all that
    is told of its calls.
    """

    name: str
    code: CodeArchive
    handler: str
    runtime: str
    env: Secret[Pairs] = NO_PAIRS
    timeout: float = 900
    memory: int = 0
    brought: Pairs = ()
    caller: CallingProvider = AS_EVENT
    hide: Callable[[str], str] = _as_it_is

    def is_as(self, other: "LocalFunction") -> bool:
        """Whether a child of the one serves the other as well."""
        same_reader = replace(self.code, read=other.code.read)
        return replace(self, code=same_reader, hide=other.hide) == other
