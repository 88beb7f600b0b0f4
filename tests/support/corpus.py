"""Projects as they are laid out in the wild, small: what they need, and what they answer."""

import base64
import json
import os
import platform
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from msgspec import Struct, field
from msgspec.json import decode

from tests.support import npm_packages
from tests.support.npm_packages import linked_copy

CORPUS = Path(__file__).parents[1] / "corpus"
_GROUP = "corpus"
# One shape has its packages as a store of links, as pnpm lays them out.
_LINKED = frozenset({"express-plain"})
MACHINE = "arm64" if platform.machine() in ("arm64", "aarch64") else "x86_64"
PYTHON_VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"
# What the configs of the corpus bind.
BINDINGS: Mapping[str, str] = {"MACHINE": MACHINE, "PYTHON_RUNTIME": f"python{PYTHON_VERSION}"}

# The handler of a custom runtime, and how its archive is run: behind the Runtime API.
BOOTSTRAP = "bootstrap"


class Call(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """What a function is asked, and what its answer has at least: a request or an event.

    `fails` is the error of a handler that throws; `plain` another way to run it by itself.
    """

    function: str
    service: str = "."
    request: str = ""
    event: object = None
    body: object = None
    form: str = ""
    request_headers: dict[str, str] = field(default_factory=dict)
    parameters: dict[str, str] = field(default_factory=dict)
    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    cookie: str = ""
    json: object = None
    exactly: object = None
    text: str = ""
    base64: str = ""
    answer: object = None
    fails: str = ""
    plain: str = ""

    @property
    def payload(self) -> object:
        """The http event, as the gateway would send it."""
        if not self.request:
            return self.event
        method, _, target = self.request.partition(" ")
        path, _, query = target.partition("?")
        http = {"method": method, "path": path, "sourceIp": "192.0.2.1", "protocol": "HTTP/1.1"}
        sent = {"body": self.content, "isBase64Encoded": False} if self.content else {}
        said = {
            "version": "2.0",
            "routeKey": "$default",
            "rawPath": path,
            "rawQueryString": query,
            "headers": self.sent_headers,
            "requestContext": {"http": http, "stage": "$default", "domainName": "shop.test"},
            **sent,
        }
        return {**said, **self._parsed(target)}

    @property
    def content(self) -> str:
        return self.form or ("" if self.body is None else json.dumps(self.body, ensure_ascii=False))

    @property
    def sent_headers(self) -> dict[str, str]:
        kind = "application/x-www-form-urlencoded" if self.form else "application/json"
        typed = {"content-type": kind} if self.content else {}
        return {"host": "shop.test", "accept": "*/*", **typed, **self.request_headers}

    def _parsed(self, target: str) -> dict[str, object]:
        pairs = [one.partition("=") for one in urlsplit(target).query.split("&") if one]
        query = {"queryStringParameters": {name: value for name, _, value in pairs}}
        return {
            **(query if pairs else {}),
            **({"pathParameters": self.parameters} if self.parameters else {}),
        }


class Expected(Struct, frozen=True, forbid_unknown_fields=True):
    """`plain` is how its archive is run without fabric; `needs` a server that the test starts."""

    plain: str
    calls: tuple[Call, ...]
    env: dict[str, str] = field(default_factory=dict)
    needs: str = ""


def shapes() -> list[str]:
    return sorted(path.parent.name for path in CORPUS.glob("*/expected.json"))


def expected(shape: str) -> Expected:
    return decode((CORPUS / shape / "expected.json").read_bytes(), type=Expected)


def copy(shape: str, folder: Path) -> None:
    """A checkout with its packages in place: files are shared with what was fetched, by links."""
    shutil.copytree(CORPUS / shape, folder, symlinks=True)
    if (folder / "package-lock.json").is_file():
        linked_copy(packages(shape) / "node_modules", folder / "node_modules")
    if (folder / "pnpm-workspace.yaml").is_file():
        _link_members(folder)


def _link_members(folder: Path) -> None:
    """Link the members of a workspace that others depend on, as pnpm does."""
    manifests = {
        path.parent: json.loads(path.read_text()) for path in folder.glob("*/*/package.json")
    }
    places = {manifest["name"]: place for place, manifest in manifests.items()}
    for place, manifest in manifests.items():
        for name in places.keys() & manifest.get("dependencies", {}).keys():
            link = place / "node_modules" / name
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(os.path.relpath(places[name], link.parent))


def packages(shape: str) -> Path:
    """Where the packages of a shape are kept between runs, by its lock."""
    return npm_packages.kept(CORPUS / shape, _GROUP)


def install_packages() -> None:
    """All packages from npm that the corpus uses and that are not there yet."""
    for lock in sorted(CORPUS.glob("*/package-lock.json")):
        strategy = "linked" if lock.parent.name in _LINKED else "hoisted"
        npm_packages.install(lock.parent, _GROUP, strategy)


def requirements() -> list[str]:
    """All packages from PyPI that the corpus uses, pinned."""
    texts = (path.read_text() for path in CORPUS.glob("*/requirements.txt"))
    return sorted({line for text in texts for line in text.split()})


def bytes_of(answer: Mapping[str, object]) -> bytes:
    body = str(answer.get("body") or "")
    return base64.b64decode(body) if answer.get("isBase64Encoded") else body.encode()
