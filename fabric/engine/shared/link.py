"""How a shared cache is used by one command: what is asked of it, and for how long."""

from collections.abc import Callable

from msgspec import Struct

from fabric.remote.seal import SealKeys

# What everybody reads, and what nobody writes who has a scope of his own.
MAIN = "main"
# What a task makes of files alone. What changes the world is told by records.
KINDS = frozenset({"vendor", "build", "package"})


class SharedLink(Struct, frozen=True):
    """`cache` tells caches apart in what is kept of them. `wait_s` is how long is waited for what
    others know, from the start of the command; `upload_s` how long, after the run, for what it
    made to be sent. Results of these `kinds` of tasks are shared. With `is_part` the run is one of
    several that divide one: what the others send meanwhile must not change how they divide it.
    """

    keys: SealKeys
    cache: str
    scope: str
    tool: str
    reads: bool
    writes: bool
    wait_s: float
    upload_s: float
    kinds: frozenset[str] = KINDS
    is_part: bool = False

    @property
    def scopes(self) -> tuple[str, ...]:
        """Where is looked: a scope reads its own and the main one, the main one itself alone."""
        return tuple(dict.fromkeys((self.scope, MAIN)))


class HeadWords(Struct, frozen=True):
    """What heads are looked up by, nearest first, and under which words a run is to be found."""

    commit: str
    read: tuple[str, ...]
    write: tuple[str, ...]

    @property
    def of_part(self) -> "HeadWords":
        """Nothing is read that another part of the run may write, and nothing is written where
        one begins to read that comes later. Without a commit there is but one word for both."""
        read = tuple(one for one in self.read if self.commit and one not in self.write[:1])
        return HeadWords(self.commit, read, self.write[:1])


AskWords = Callable[[], HeadWords]
