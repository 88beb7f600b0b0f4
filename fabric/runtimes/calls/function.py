"""A function for local calls: its archive and its settings."""

from collections.abc import Callable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from fabric.model.calls.conventions import Convention
from fabric.model.calls.host_facts import UNKNOWN_HOST, HostFacts
from fabric.model.secrets.secret import NO_PAIRS, Secret
from fabric.model.task import Pairs


class LocalWorkers(Struct, frozen=True):
    """The service of a function that runs in workerd: the file that describes it, and the
    variables of all its functions."""

    file: str
    variables: Secret[Mapping[str, Mapping[str, object]]]


class CalledExports(Struct, frozen=True):
    """The calling convention, the fallback exports, and the methods of a handler object."""

    convention: Convention = Convention.EVENT
    names: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    # Only at Cloudflare, with bindings.
    workers: LocalWorkers | None = None


class CallingProvider(Struct, frozen=True):
    """The calling conventions and metadata of a provider; empty and 0 mean unknown.

    `path` and `schedule` come from the first trigger of their kind.
    """

    calls: CalledExports = CalledExports()
    # The kinds of its triggers.
    kinds: tuple[str, ...] = ()
    path: str = "/"
    host: str = "localhost"
    schedule: str = ""
    memory: int = 0
    region: str = ""
    # The provider's name of the function.
    resource: str = ""
    # Of the function; empty is the provider's default.
    architecture: str = ""
    facts: HostFacts = UNKNOWN_HOST

    @property
    def function_name(self) -> str:
        """Return the name in an ARN; empty if the provider has none."""
        return self.resource.partition(":function:")[2].partition(":")[0]


AS_EVENT = CallingProvider(calls=CalledExports(names=("default",)))


class InstalledPackages(Struct, frozen=True):
    """Packages on this machine that are not in the archive."""

    # Maps packages of the provider's runtime to local directories.
    brought: Pairs = ()
    # Directories with the contents of layers, which AWS Lambda merges into `/opt`. The first one
    # takes precedence.
    opt: tuple[str, ...] = ()
    # `site-packages` of the project, for packages that the archive has for another machine.
    project: tuple[str, ...] = ()
    # Layers that are not on this machine.
    missing_layers: tuple[str, ...] = ()


class CodeArchive(Struct, frozen=True):
    """An archive that is read on demand."""

    sha256: str
    read: Callable[[], bytes]


def _return_unchanged(text: str) -> str:
    return text


class LocalFunction(Struct, frozen=True):
    """A function that runs locally. `handler` is `<module path in the archive>.<export>`.

    `hide` redacts secrets in everything reported about its calls.
    """

    name: str
    code: CodeArchive
    handler: str
    runtime: str
    env: Secret[Pairs] = NO_PAIRS
    timeout: float = 900
    # A limit in MB; 0 means none.
    memory: int = 0
    installed: InstalledPackages = InstalledPackages()
    # The provider as the handler sees it.
    caller: CallingProvider = AS_EVENT
    hide: Callable[[str], str] = _return_unchanged

    def is_as(self, other: "LocalFunction") -> bool:
        """Return whether a child of one function can also serve the other."""
        same_reader = replace(self.code, read=other.code.read)
        return replace(self, code=same_reader, hide=other.hide) == other
