"""Where libpq connects to for a URL, and what of the user's it takes along.

Read by libpq's own parser: a URL names hosts in its query as well, and several at a time.
"""

from msgspec import Struct

from fabric.model.distribution import Extra
from fabric.state.backends.failures import extra

# Each names a file or a section of the user's that can hold a password.
_FILES = ("service", "servicefile", "passfile")


class PostgresTarget(Struct, frozen=True):
    """`has_other_address` is whether the client looks up the password of one host, and connects to
    another one. A URL that cannot be read has no hosts: opening the backend reports it."""

    hosts: tuple[str, ...] = ()
    has_password: bool = False
    has_other_address: bool = False
    reads_files: bool = False


def postgres_target(url: str) -> PostgresTarget:
    with extra(Extra.POSTGRES):
        import psycopg.conninfo
    try:
        parts = psycopg.conninfo.conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        return PostgresTarget()
    addresses = _listed(parts.get("hostaddr"))
    # A path is a socket of this machine, and so is no host at all.
    names = tuple(one for one in _listed(parts.get("host")) if not one.startswith(("/", "@")))
    return PostgresTarget(
        (*names, *addresses),
        bool(parts.get("password")),
        bool(addresses),
        any(parts.get(name) for name in _FILES),
    )


def _listed(value: object) -> tuple[str, ...]:
    return tuple(one for one in str(value or "").split(",") if one)
