"""The hosts that libpq connects to for a URL, and the user's credentials that it sends.

Parsed by libpq itself, because a URL can contain several hosts, also in its query.
"""

from msgspec import Struct

from fabric.model.distribution import Extra
from fabric.state.backends.failures import import_extra

# Each names a file or a section of the user's that can hold a password.
_FILES = ("service", "servicefile", "passfile")


class PostgresTarget(Struct, frozen=True):
    """The target of a URL.

    An invalid URL has no hosts: opening the backend reports it.
    """

    hosts: tuple[str, ...] = ()
    has_password: bool = False
    # Means that the password of one host is sent to another.
    has_other_address: bool = False
    reads_files: bool = False


def parse_postgres_target(url: str) -> PostgresTarget:
    with import_extra(Extra.POSTGRES):
        import psycopg.conninfo
    try:
        parts = psycopg.conninfo.conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        return PostgresTarget()
    addresses = _split_list(parts.get("hostaddr"))
    # A path is a socket of this machine, and so is no host at all.
    names = tuple(one for one in _split_list(parts.get("host")) if not one.startswith(("/", "@")))
    return PostgresTarget(
        (*names, *addresses),
        bool(parts.get("password")),
        bool(addresses),
        any(parts.get(name) for name in _FILES),
    )


def _split_list(value: object) -> tuple[str, ...]:
    return tuple(one for one in str(value or "").split(",") if one)
