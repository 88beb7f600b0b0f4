"""The environment variables that a config can bind, depending on its trust."""

import functools
import re
from collections.abc import Mapping
from enum import Enum

from msgspec import Struct

from fabric.model.secrets.secrecy import is_secret_name, redact_credentials

_CLOUD = "AWS_"
# Names that say less than TOKEN or PASSWORD, and mean the same.
_NAMES = re.compile(
    r"_KEY|(?:^|_)(?:PASS|PWD|PAT|DSN|AUTH|HEADERS|COOKIE)$|PASSPHRASE|CONNECTION_?STRING"
    r"|AUTHORIZATION",
    re.IGNORECASE,
)
# A password may hold any letter: what stands before an `@` is taken for one rather than not.
_VALUES = re.compile(
    r"://\S*@|^[^\s:@/]+:[^\s@]+@|[?&;](?:password|passwd|pwd|pass|token|secret|sig|key)=",
    re.IGNORECASE,
)


class SecretUse(Enum):
    """How secrets are handled: read, not needed, or forbidden."""

    READ = "read"
    HIDDEN = "hidden"
    REFUSED = "refused"


class GivenVariables(Struct, frozen=True):
    """Bindable variables, and the names of withheld ones."""

    env: Mapping[str, str]
    withheld: frozenset[str] = frozenset()


class Bindable(Struct, frozen=True):
    """The variables and files that a config can bind; the user's own config can bind all.

    An untrusted config gets only variables with one of the `prefixes`, and none that looks like a
    credential by its name or by a password in its URL. A trusted one can also read project files
    and use the server.

    An untrusted config can name only the local backend and `backend`, the server's own section as
    canonical JSON.
    """

    is_own: bool = True
    prefixes: tuple[str, ...] = ()
    is_trusted: bool = False
    secrets: SecretUse = SecretUse.READ
    backend: str = ""
    # Server files that it must not package.
    hidden: tuple[str, ...] = ()

    @property
    def is_restrained(self) -> bool:
        return not (self.is_own or self.is_trusted)

    def of(self, env: Mapping[str, str]) -> GivenVariables:
        """Select the bindable variables. Call this after merging `.env`, which is withheld too."""
        if self.is_own:
            return GivenVariables(env)
        given = {name: value for name, value in env.items() if self._lets(name, value)}
        return GivenVariables(given, frozenset(env) - frozenset(given))

    def _lets(self, name: str, value: str) -> bool:
        if self.prefixes or not self.is_trusted:
            return name.startswith(self.prefixes) and not _is_credential(name, value)
        return not _is_credential(name, value)


@functools.lru_cache(4096)  # every request looks through the same environment
def _is_credential(name: str, value: str) -> bool:
    if is_secret_name(name) or _NAMES.search(name) or name.upper().startswith(_CLOUD):
        return True
    return _VALUES.search(value) is not None or redact_credentials(value) != value


EVERYTHING = Bindable()
