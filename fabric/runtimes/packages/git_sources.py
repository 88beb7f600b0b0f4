"""Python packages in git repositories, as lines of requirements: `lib @ git+https://host/x@COMMIT`.

Reads no disk and runs nothing.
"""

import re
from collections.abc import Iterable
from urllib.parse import parse_qs, quote

from msgspec import Struct
from msgspec.structs import replace

from fabric.model.problems import Place, Problem
from fabric.model.secrets.secrecy import redact_userinfo, remove_userinfo

_LINE = re.compile(
    r"(?:(?:-e|--editable)[ =]\s*)?"
    r"(?:(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[(?P<extras>[^\]]*)\])?\s*@\s*)?"
    r"git\+(?P<url>[^\s#;]+)(?:#(?P<fragment>[^\s;]*))?(?:\s*;\s*(?P<marker>.*\S))?\s*"
)
_EGG = re.compile(r"(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)(?:\[(?P<extras>[^\]]*)\])?")
_COMMIT = re.compile(r"[0-9a-f]{40}")
# `git@host:owner/name.git`, as ssh and some locks write it.
_SHORT_SSH = re.compile(r"(?P<login>[\w.-]+@)?(?P<host>[\w.-]+):(?P<path>[^/\\:].*)")
# Others run programs that the address names (`ext::`), or send a login without encryption.
_PROTOCOLS = ("https://", "ssh://", "file:///")
# Without characters that end the URL in a line of requirements.
_URL = re.compile(r"[!$-:<-~]+")


class GitSource(Struct, frozen=True, kw_only=True):
    """A package at a commit of a repository. `url` contains no login."""

    name: str
    url: str
    # Empty if the source names none: then it is a branch or a tag.
    commit: str
    subdirectory: str = ""
    extras: tuple[str, ...] = ()
    marker: str = ""

    @property
    def origin(self) -> str:
        """Its URL in requirements."""
        folder = f"#subdirectory={quote(self.subdirectory)}" if self.subdirectory else ""
        return f"git+{self.url}@{self.commit}{folder}"

    @property
    def line(self) -> str:
        return self.format_line(self.origin)

    def format_line(self, url: str) -> str:
        """Format the requirement with another URL, or without one."""
        extras = f"[{','.join(self.extras)}]" if self.extras else ""
        marker = f" ; {self.marker}" if self.marker else ""
        origin = f" @ {url}" if url else ""
        return f"{self.name}{extras}{origin}{marker}"


def build_git_source(name: str, url: str, commit: object, subdirectory: object = "") -> GitSource:
    """Build the source of a row of a lock. A value that is not a commit is left out."""
    from packaging.utils import canonicalize_name

    pinned = str(commit or "").lower()
    return GitSource(
        name=canonicalize_name(name),
        url=_normalize_url(url),
        commit=pinned if _COMMIT.fullmatch(pinned) else "",
        subdirectory=str(subdirectory or "").strip("/"),
    )


def _normalize_url(url: str) -> str:
    """Return a URL without `git+` and without login."""
    plain = url.removeprefix("git+")
    short = None if "://" in plain else _SHORT_SSH.fullmatch(plain)
    return f"ssh://{short['host']}/{short['path']}" if short else remove_userinfo(plain)


def parse_git_line(line: str) -> GitSource | None:
    """Return the repository that a line of requirements names; None for all other lines."""
    found = _LINE.fullmatch(line) if "git+" in line else None  # locks have many other lines
    if found is None:
        return None
    fragment = parse_qs(found["fragment"] or "")
    egg = _EGG.fullmatch(fragment.get("egg", [""])[0])
    named = found if found["name"] else egg
    address, separator, revision = found["url"].rpartition("@")
    # The `@` of a login is before the path.
    if not separator or "/" not in address.partition("://")[2]:
        address, revision = found["url"], ""
    folder = fragment.get("subdirectory", [""])[0]
    source = build_git_source(named["name"] if named else "", address, revision, folder)
    extras = (named["extras"] if named else "") or ""
    return replace(
        source,
        extras=tuple(sorted(filter(None, map(str.strip, extras.split(","))))),
        marker=found["marker"] or "",
    )


def list_git_sources(lines: Iterable[str]) -> tuple[GitSource, ...]:
    return tuple(dict.fromkeys(filter(None, map(parse_git_line, lines))))


class VersionConflict(Struct, frozen=True):
    """Two versions of one package. The version of a repository is its URL in requirements."""

    name: str
    first: str
    second: str

    @property
    def reason(self) -> str:
        return f"two versions of `{self.name}`, {self.first} and {self.second}"


def find_version_conflict(versions: Iterable[tuple[str, str]]) -> VersionConflict | None:
    """Find the first package that is listed by name with two versions."""
    known: dict[str, str] = {}
    for name, version in versions:
        first = known.setdefault(name, version)
        if first != version:
            return VersionConflict(name, first, version)
    return None


def find_git_problem(source: GitSource, line: str, where: Place) -> Problem | None:
    """Return why a repository cannot be used. `line` is its text in requirements, if it has one."""
    subject = f"`{redact_userinfo(line) if line else source.name}`"
    if not source.name:
        message = f"{subject} has no package name"
        hint = "put the name in front: NAME @ git+URL@COMMIT"
    elif line and "://" not in line.partition("git+")[2]:
        message = f"unsupported URL of repository {subject}"
        hint = "begin it with a protocol, for ssh: git+ssh://git@HOST/PATH@COMMIT"
    elif not _is_safe_url(source.url):
        message = f"unsupported URL of repository {subject}: `{redact_userinfo(source.url)}`"
        hint = "use https://, ssh:// or file:/// with an absolute path"
    elif not source.commit:
        message = f"the repository {subject} is not pinned to a commit"
        hint = (
            "end the URL with @COMMIT (40 characters), "
            f"from: git ls-remote {_show_url(source, line)}"
            if line
            else "lock again with a version of your tool that stores the commit"
        )
    elif not source.subdirectory.isprintable():
        message = f"invalid subdirectory of {subject}: {source.subdirectory!r}"
        hint = "correct it, or lock again"
    elif ".." in source.subdirectory.split("/"):
        message = f"the subdirectory of {subject} is outside the repository"
        hint = "correct it: it is relative to the root of the repository"
    else:
        return None
    return Problem("input/package-source", message, hint, where)


def _show_url(source: GitSource, line: str) -> str:
    from fabric.system.git.git_fetch import RemoteCommit

    login = find_login(source, [line])
    return RemoteCommit(url=source.url, commit="", login=login).shown_url


def _is_safe_url(url: str) -> bool:
    protocol = next((one for one in _PROTOCOLS if url.startswith(one)), None)
    if protocol is None or not _URL.fullmatch(url) or "${" in url:
        return False
    rest = url.removeprefix(protocol)
    # A host that begins with `-` would be an option of ssh.
    has_path = "/" in rest or protocol == "file:///"
    return bool(rest) and not rest.startswith(("-", "/")) and has_path


def find_login(source: GitSource, texts: Iterable[str]) -> str:
    """Return the login that texts contain in the URL of a repository; empty without one."""
    host, _, path = source.url.partition("://")[2].partition("/")
    pattern = re.compile(
        rf"([^\s\"'/@]+(?:@[^\s\"'/@]+)*)@{re.escape(host)}[:/]{re.escape(path)}"
        r"(?:\.git)?/?(?=[@#?;\s\"']|$)"
    )
    found = (pattern.search(text) for text in texts) if host else ()
    return next((one[1].removeprefix("git+") for one in found if one), "")
