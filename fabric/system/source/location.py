"""The parsed and checked URL of a source. No effects."""

from urllib.parse import quote, urljoin, urlsplit

from msgspec import Struct

from fabric.model.problems import FabricError, Problem

_PORTS = {"http": 80, "https": 443}
_IN_TARGETS = "%/:=&?~+!$,;'@()*[]-._"
_LONGEST = 8192


class Location(Struct, frozen=True):
    """A source URL."""

    scheme: str
    host: str
    port: int
    # Path and query; `shown` omits the query, because it can contain a key.
    target: str

    @property
    def shown(self) -> str:
        return f"{self.scheme}://{self.authority}{self.target.partition('?')[0]}"

    def join(self, reference: str) -> "Location":
        """Return the target of a redirect."""
        return locate(urljoin(f"{self.scheme}://{self.authority}{self.target}", reference))

    @property
    def authority(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"


def locate(url: str) -> Location:
    if len(url) > _LONGEST or not url.isprintable() or " " in url:
        raise _bad_url_error("is not a URL")
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
        name = host.encode("idna").decode() if not host.isascii() else host
    except ValueError as error:
        raise _bad_url_error(f"is not a URL: {error}") from error
    if parts.scheme not in _PORTS:
        raise _bad_url_error("must start with `https://` or `http://`")
    if "@" in parts.netloc:
        raise _bad_url_error("must not contain a user or a password")
    if not name or name.startswith("."):
        raise _bad_url_error("has no host")
    target = quote(parts.path or "/", safe=_IN_TARGETS)
    query = f"?{quote(parts.query, safe=_IN_TARGETS)}" if parts.query else ""
    return Location(parts.scheme, name, port or _PORTS[parts.scheme], target + query)


def _bad_url_error(what: str) -> FabricError:
    # The URL itself is not quoted: it may hold a password.
    return FabricError(
        Problem(
            "input/source-url",
            f"the URL in --source {what}",
            hint="use the https URL of a `.zip`, `.tar.gz` or `.tgz` file",
        )
    )
