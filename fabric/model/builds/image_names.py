"""Names of images: registry, repository, and a tag or a digest."""

import re

from msgspec import Struct

from fabric.model.problems import FabricError, Problem

# Where functions and their packages are in an image, as in those of AWS.
CODE_FOLDER = "var/task"
_HUB, _HUB_API = "docker.io", "registry-1.docker.io"
_LOOPBACK = re.compile(r"(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])(?::\d+)?")
# As with Docker, a host has a dot or a port, or is `localhost`.
_PORT = r":[0-9]{1,5}"
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_HOST = rf"(?:(?:localhost|\[[0-9a-fA-F:]+\]|{_LABEL}(?:\.{_LABEL})+)(?:{_PORT})?|{_LABEL}{_PORT})"
_PART = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_REPOSITORY = rf"{_PART}(?:/{_PART})*"
_TAG = r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}"
_DIGEST = r"sha256:[0-9a-f]{64}"
_NAME = rf"(?:{_HOST}/)?{_REPOSITORY}"
# For schemas.
IMAGE_PATTERN = rf"{_NAME}(?::{_TAG})?(?:@{_DIGEST})?"
_REFERENCE = re.compile(rf"(?P<name>{_NAME})(?::(?P<tag>{_TAG}))?(?:@(?P<digest>{_DIGEST}))?")


class ImageReference(Struct, frozen=True):
    """The name of an image. With a digest the tag has no effect."""

    registry: str
    repository: str
    tag: str = ""
    digest: str = ""

    @property
    def is_pinned(self) -> bool:
        return bool(self.digest)

    @property
    def version(self) -> str:
        """Return the digest, or the tag of an image that can move."""
        return self.digest or self.tag

    @property
    def name(self) -> str:
        return f"{self.registry}/{self.repository}"

    def pin(self, digest: str) -> str:
        return f"{self.name}@{digest}"

    def __str__(self) -> str:
        tag = f":{self.tag}" if self.tag else ""
        return f"{self.name}{tag}{'@' if self.digest else ''}{self.digest}"


def parse_reference(text: str) -> ImageReference | None:
    """Parse a name as Docker does: without a registry it is on Docker Hub, without a tag it is
    `latest`. Returns None for an invalid name."""
    found = _REFERENCE.fullmatch(text)
    if found is None:
        return None
    first, slash, rest = found["name"].partition("/")
    has_host = bool(slash) and (first == "localhost" or re.search(r"[.:]", first) is not None)
    registry, repository = (first, rest) if has_host else (_HUB, found["name"])
    if registry == _HUB and "/" not in repository:
        repository = f"library/{repository}"
    digest = found["digest"] or ""
    tag = found["tag"] or ("" if digest else "latest")
    return ImageReference(registry, repository, tag, digest)


def require_reference(text: str) -> ImageReference:
    found = parse_reference(text)
    if found is None:
        hint = "use a name such as `registry.example.com/team/base:1` or `…@sha256:…`"
        raise FabricError(Problem("image/bad-name", f"invalid image name `{text}`", hint))
    return found


def is_loopback(registry: str) -> bool:
    return _LOOPBACK.fullmatch(registry) is not None


def build_base_url(registry: str, insecure: frozenset[str] = frozenset()) -> str:
    """Return the API address of a registry. Only loopback addresses and explicitly insecure
    registries are reached without TLS."""
    scheme = "http" if is_loopback(registry) or registry in insecure else "https"
    return f"{scheme}://{_HUB_API if registry == _HUB else registry}"
