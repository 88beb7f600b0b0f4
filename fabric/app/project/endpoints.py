"""Endpoints from a project's `.env`: used only with credentials from the same file.

A `.env` comes with a checkout. The user's own token must not be sent to a host that it names.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from fabric.model.problems import Problem
from fabric.model.routing.hosts import extract_host, is_name_in_host
from fabric.model.secrets.secrecy import is_secret_name
from fabric.model.secrets.secret import Secret
from fabric.system.http.urls import is_loopback, is_plain

_ENDPOINT = re.compile(
    r"OBJSTORE[123]_ENDPOINT_URL|OBJSTORE3_CONNECTION_STRING|AWS_ENDPOINT_URL(?:_[A-Z0-9_]+)?"
    r"|(?P<prefix>(?:CLOUD|EDGE|HOST)[0-9](?=_[A-Z_]+_(?:URL|HOST)$|_REGISTRY$)"
    r"|[A-Z0-9]+(?=_API_(?:BASE_URL|HOST)$))_[A-Z_]+"
)
# A part of the host that is called.
_REGION = re.compile(r"(?P<prefix>[A-Z0-9]+)_REGION")
_KEYS = ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY", "SESSION_TOKEN")
_CONNECTION = "OBJSTORE3_CONNECTION_STRING"


class Sources(Struct, frozen=True):
    """The values of a `.env` and of the process, which has priority."""

    # Contains the file.
    folder: Path
    filed: Secret[Mapping[str, str]]
    process: Secret[Mapping[str, str]]
    # Fabric's own variables in the file. They are ignored, because a checkout must not control how
    # fabric runs.
    switches: tuple[str, ...] = ()

    def get(self, name: str) -> str:
        return self.process.reveal().get(name, self.filed.reveal().get(name, ""))

    def is_filed(self, name: str) -> bool:
        """Return whether the value of a variable comes from the file."""
        return bool(self.filed.reveal().get(name)) and name not in self.process.reveal()

    def names(self) -> set[str]:
        return {*self.filed.reveal(), *self.process.reveal()}


def list_foreign_endpoints(sources: Sources) -> tuple[str, ...]:
    """List endpoints from the file that would receive credentials from elsewhere."""
    return tuple(
        name
        for name in sorted(sources.filed.reveal())
        if sources.is_filed(name)
        and (found := _match_endpoint(name, sources.filed.reveal()[name]))
        and not is_loopback(_extract_host(name, sources.filed.reveal()[name]))
        and not _has_credentials_beside(name, found["prefix"], sources)
    )


def _match_endpoint(name: str, text: str) -> re.Match[str] | None:
    """Match an endpoint. A region with more than a host label counts as an endpoint too."""
    region = None if is_name_in_host(text) else _REGION.fullmatch(name)
    return region or _ENDPOINT.fullmatch(name)


def list_foreign_databases(sources: Sources, name: str) -> tuple[str, ...]:
    """List PostgreSQL URLs from the file with which the client would send a password of the
    user."""
    if not sources.is_filed(name) or not sources.filed.reveal()[name].startswith("postgres"):
        return ()
    from fabric.state.backends.postgres import parse_postgres_target  # psycopg and all

    target = parse_postgres_target(sources.filed.reveal()[name])
    own = any(sources.process.reveal().get(one) for one in ("PGPASSWORD", "PGPASSFILE"))
    if target.reads_files or (target.has_other_address and not target.has_password):
        return (name,)
    takes_own = own and not target.has_password and not all(map(is_loopback, target.hosts))
    return (name,) if takes_own else ()


def foreign_endpoint_problem(sources: Sources, name: str) -> Problem:
    return Problem(
        "credentials/foreign-endpoint",
        f"ignoring `{name}` in `{sources.folder / '.env'}`: its credentials are not in the same "
        "file",
        hint="add the credentials to the same file, or set the URL in the shell",
    )


def list_plain_endpoints(sources: Sources) -> Iterator[str]:
    """List endpoints, from any source, that are reached over a network without encryption."""
    for name in sorted(sources.names()):
        text = sources.get(name)
        if _ENDPOINT.fullmatch(name) and is_plain(_extract_url(name, text)):
            yield name


def switch_problem(sources: Sources, name: str) -> Problem:
    return Problem(
        "config/no-effect",
        f"ignoring `{name}` in `{sources.folder / '.env'}`: FABRIC_* variables are not read from "
        ".env",
        hint="set the variable in the shell or in CI",
    )


def plain_endpoint_problem(name: str) -> Problem:
    return Problem(
        "config/plain-http",
        f"`{name}` uses plain HTTP: other parties can read and change its requests",
        hint="use an https:// URL",
    )


def _has_credentials_beside(name: str, prefix: str | None, sources: Sources) -> bool:
    if prefix:
        return _is_all_from_file(
            sources, [one for one in sources.names() if _is_secret_of(one, prefix)]
        )
    return _BROUGHT_ALONG.get(name, _has_keys_for_commands)(sources)


def _has_keys_for_commands(sources: Sources) -> bool:
    """Return whether the file has credentials that custom commands read, along with the user's
    own."""
    own = _present(sources, "CLOUD1")
    return _has_keys(sources, "AWS") and (not own or _has_keys(sources, "CLOUD1"))


def _has_keys_for_store(sources: Sources) -> bool:
    return _has_keys(sources, "CLOUD1" if _present(sources, "CLOUD1") else "AWS")


def _is_secret_of(name: str, prefix: str) -> bool:
    return name.startswith(f"{prefix}_") and is_secret_name(name)


def _present(sources: Sources, family: str) -> bool:
    return any(sources.get(f"{family}_{key}") for key in _KEYS[:2])


def _has_keys(sources: Sources, family: str) -> bool:
    needed = [f"{family}_{key}" for key in _KEYS[:2]]
    more = [name for key in _KEYS[2:] if sources.get(name := f"{family}_{key}")]
    return _is_all_from_file(sources, [*needed, *more])


def _is_all_from_file(sources: Sources, names: list[str]) -> bool:
    return bool(names) and all(sources.is_filed(name) for name in names)


def _has_token(sources: Sources) -> bool:
    if sources.get("OBJSTORE2_ACCESS_TOKEN"):
        return sources.is_filed("OBJSTORE2_ACCESS_TOKEN")
    if not sources.is_filed("OBJSTORE2_CREDENTIALS_FILE"):
        return False
    # A file may name any other: only what came along with it is of the same hand.
    named = (sources.folder / sources.filed.reveal()["OBJSTORE2_CREDENTIALS_FILE"]).resolve()
    return named.is_relative_to(sources.folder.resolve())


def _has_account_key(sources: Sources) -> bool:
    if re.search(r"(?:^|;)\s*AccountKey\s*=\s*\S", sources.get(_CONNECTION)):
        return sources.is_filed(_CONNECTION)
    return sources.is_filed("OBJSTORE3_KEY")


# For each address of a store: whether what opens it came along in the same file.
_BROUGHT_ALONG: Mapping[str, Callable[[Sources], bool]] = {
    "OBJSTORE1_ENDPOINT_URL": _has_keys_for_store,
    "OBJSTORE2_ENDPOINT_URL": _has_token,
    "OBJSTORE3_ENDPOINT_URL": _has_account_key,
    _CONNECTION: _has_account_key,
}


def _extract_url(name: str, text: str) -> str:
    """Extract the URL from a variable, or from the connection string of objstore3."""
    if name != _CONNECTION:
        return text
    found = re.search(r"(?:^|;)\s*BlobEndpoint\s*=\s*([^;]*)", text)
    if found:
        return found[1].strip()
    plain = re.search(r"(?:^|;)\s*DefaultEndpointsProtocol\s*=\s*http\s*(?:;|$)", text)
    return "http://core.windows.net" if plain else ""


def _extract_host(name: str, text: str) -> str:
    return extract_host(_extract_url(name, text))
