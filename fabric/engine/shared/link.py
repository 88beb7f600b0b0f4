"""How one command uses a shared cache: its queries and time limits."""

from collections.abc import Callable

from msgspec import Struct

from fabric.remote.seal import SealKeys

# What everybody reads, and what nobody writes who has a scope of his own.
MAIN = "main"
# What a task makes of files alone. What changes the world is told by records.
KINDS = frozenset(
    {
        *("wheel", "git-wheel", "vendor", "before", "build"),
        *("package", "layer-archive", "image-layers", "image"),
    }
)


class SharedLink(Struct, frozen=True):
    """The settings. `wait_s` limits the wait for metadata from the command's start; `upload_s`
    limits uploads after the run.

    Results of these task `kinds` are shared. With `is_part` the run is one shard: uploads of other
    shards must not change the division.
    """

    keys: SealKeys
    # Identifies the cache in local files.
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
        """Return the searched scopes: a scope and the main one, or only the main one."""
        return tuple(dict.fromkeys((self.scope, MAIN)))


class HeadTexts(Struct, frozen=True):
    """The names of heads to look up, nearest first, and the names for this run's head."""

    commit: str
    read: tuple[str, ...]
    write: tuple[str, ...]

    @property
    def of_part(self) -> "HeadTexts":
        """Return the names for a shard: it reads no head that another shard can write, and it
        writes no head that a later shard reads first.

        Without a commit there is only one name for both.
        """
        read = tuple(one for one in self.read if self.commit and one not in self.write[:1])
        return HeadTexts(self.commit, read, self.write[:1])


AskWords = Callable[[], HeadTexts]
