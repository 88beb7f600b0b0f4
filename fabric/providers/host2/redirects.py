"""Redirects of netlify.toml as the file `_redirects` of a deploy. No effects."""

import hashlib
import re
from collections.abc import Iterator, Mapping

from msgspec import Struct, field

from fabric.providers.core.contract import Unsupported
from fabric.providers.core.limits import unsupported_setting
from fabric.providers.core.static_files import NO_FILES, StaticFolder

_EXTENSION = ("extensions", "host2")
REDIRECTS_FILE, HEADERS_FILE = "/_redirects", "/_headers"
_FUNCTIONS = "/.netlify/functions/"
_MOVED, _REWRITTEN = 301, 200
_STATUSES = (_REWRITTEN, _MOVED, 302, 303, 307, 308)
_PARAMETER = re.compile(r"(?<![:/]):([A-Za-z_]\w*)|/:([A-Za-z_]\w*)")


class SiteRedirect(Struct, frozen=True, rename={"source": "from", "target": "to"}):
    source: str
    target: str
    status: int = _MOVED
    # Also where a file has the path.
    force: bool = False
    query: dict[str, str] = field(default_factory=dict)
    conditions: dict[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def line(self) -> str:
        query = (f"{name}={value}" for name, value in self.query.items())
        limits = (f"{name}={','.join(values)}" for name, values in self.conditions.items())
        status = f"{self.status}{'!' if self.force else ''}"
        return " ".join((self.source, *query, self.target, status, *limits))


class SiteHeaders(Struct, frozen=True, rename={"path": "for"}):
    """Headers of the static files with a path."""

    path: str
    values: dict[str, str | tuple[str, ...]]

    @property
    def text(self) -> str:
        rows = (
            (name, one)
            for name, value in self.values.items()
            for one in ((value,) if isinstance(value, str) else value)
        )
        return "".join((f"{self.path}\n", *(f"  {name}: {value}\n" for name, value in rows)))


class SiteRules(Struct, frozen=True):
    """The settings of this provider's config section."""

    redirects: tuple[SiteRedirect, ...] = ()
    headers: tuple[SiteHeaders, ...] = ()
    static: StaticFolder = NO_FILES

    def build_files(self, static: Mapping[str, bytes]) -> dict[str, bytes]:
        """Build the files of a deploy, by path. The rules of the config come before the rules
        among the static files."""
        rules = {
            REDIRECTS_FILE: "".join(f"{one.line}\n" for one in self.redirects),
            HEADERS_FILE: "".join(one.text for one in self.headers),
        }
        joined = {
            path: text.encode() + static.get(path, b"") for path, text in rules.items() if text
        }
        return {**static, **joined}


def hash_file(content: bytes) -> str:
    """Return the SHA-1 hash, by which Netlify identifies files."""
    return hashlib.sha1(content, usedforsecurity=False).hexdigest()


def find_redirect_problems(own: SiteRules) -> Iterator[Unsupported]:
    has_files = bool(own.static.path)
    if own.headers and not has_files:
        why = "set without `static`: Netlify applies it only to files"
        yield unsupported_setting(_EXTENSION, "headers", why, "set headers in the handler")
    for one in own.redirects:
        why, hint = _explain(one, has_files=has_files)
        if why:
            yield unsupported_setting(_EXTENSION, "redirects", why, hint)


def _explain(one: SiteRedirect, *, has_files: bool) -> tuple[str, str]:
    is_url = one.target.startswith(("https://", "http://"))
    if one.target.startswith(_FUNCTIONS):
        why = f"set with a redirect of `{one.source}` to a function"
        return why, "add an http trigger with this path to the function"
    if one.status not in _STATUSES:
        return f"set with the status {one.status}", "use 200, 301, 302, 303, 307 or 308"
    if one.status == _REWRITTEN and not is_url and not has_files:
        why = f"set with a rewrite of `{one.source}` to `{one.target}`, which is not a URL"
        return why, "add an http trigger with this path to the function that answers"
    if "*" in one.source.removesuffix("/*"):
        why = f"set with `{one.source}`, in which `*` is not the last segment"
        return why, "use `*` at the end, or parameters"
    known = {*_find_names(one.source), *(text.removeprefix(":") for text in one.query.values())}
    known |= {"splat"} if one.source.endswith("*") else set()
    rest = one.target.partition("://")[2].partition("/")[2] if is_url else one.target
    unknown = sorted(_find_names(f"/{rest}") - known)
    if unknown:
        why = f"set with `:{unknown[0]}` in `{one.target}`, which `{one.source}` does not have"
        return why, "use a parameter of `from`, or `:splat` for `*`"
    return "", ""


def _find_names(text: str) -> frozenset[str]:
    return frozenset(one or other for one, other in _PARAMETER.findall(text))
