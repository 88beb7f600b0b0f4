"""The calls of one container registry: manifests and blobs of its repositories."""

import hashlib
import json
import re
import threading
from collections.abc import Callable, Mapping
from typing import IO
from urllib.parse import urlencode, urljoin, urlsplit

import msgspec
from msgspec import Struct

from fabric.model.builds.image_names import build_base_url, is_loopback
from fabric.model.problems import FabricError, Problem
from fabric.model.secrets.secret import Secret
from fabric.system.http.http_client import Http, HttpReply, HttpRequest
from fabric.system.registries.credentials import RegistryLogin, name_login_variables
from fabric.system.retry import TransientError

INDEX_TYPES = (
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
)
MANIFEST_TYPES = (
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json",
)
_BINARY = "application/octet-stream"
_OK, _CREATED, _ACCEPTED, _UNAUTHORIZED, _FORBIDDEN, _MISSING = 200, 201, 202, 401, 403, 404
_REDIRECTS = frozenset((301, 302, 303, 307, 308))
_MOST_REDIRECTS = 5
# A registry checks the bytes of a blob before it answers.
_UPLOAD_SECONDS = 300.0
_LONGEST = 200


class Registry:
    """A registry with the login of this registry only. Thread-safe. Calls are not repeated."""

    def __init__(
        self,
        name: str,
        http: Http,
        login: RegistryLogin | None,
        insecure: frozenset[str] = frozenset(),
    ) -> None:
        self.name = name
        self._http = http
        self._base = build_base_url(name, insecure)
        self._authorizer = Authorizer(login, http.send, insecure=name in insecure)

    def read_manifest(self, repository: str, version: str) -> tuple[bytes, str]:
        """Return a manifest or an index, with its type."""
        accept = {"Accept": ", ".join((*INDEX_TYPES, *MANIFEST_TYPES))}
        path = f"/v2/{repository}/manifests/{version}"
        reply = self._send("GET", path, _scope(repository), accept)
        if reply.status == _MISSING:
            raise FabricError(self._missing_problem(repository, version))
        self._require(reply, _OK)
        kind = reply.headers.get("content-type", "").partition(";")[0].strip()
        return reply.content, kind

    def has_manifest(self, repository: str, digest: str) -> bool:
        accept = {"Accept": ", ".join(MANIFEST_TYPES)}
        path = f"/v2/{repository}/manifests/{digest}"
        return self._exists(self._send("HEAD", path, _scope(repository, "pull,push"), accept))

    def has_blob(self, repository: str, digest: str) -> bool:
        path = f"/v2/{repository}/blobs/{digest}"
        return self._exists(self._send("HEAD", path, _scope(repository, "pull,push")))

    def read_blob(self, repository: str, digest: str, into: IO[bytes]) -> None:
        """Write a blob to a file, and check its hash. The host of a redirect gets no login."""
        hashed = hashlib.sha256()
        into.seek(0)
        into.truncate()

        def write(chunk: bytes) -> None:
            hashed.update(chunk)
            into.write(chunk)

        url = f"{self._base}/v2/{repository}/blobs/{digest}"
        reply = self._download(url, _scope(repository), write)
        for _ in range(_MOST_REDIRECTS):
            if reply.status in _REDIRECTS:
                url = urljoin(url, reply.headers.get("location", ""))
                reply = self._download(url, _scope(repository), write)
        if reply.status == _MISSING:
            raise FabricError(self._missing_problem(repository, digest))
        self._require(reply, _OK)
        if f"sha256:{hashed.hexdigest()}" != digest:
            raise TransientError(f"the content of {digest} is damaged")

    def mount_blob(self, repository: str, digest: str, source: str) -> str:
        """Add a blob of another repository here. If the registry refuses, it opens an upload, whose
        address is returned."""
        asked = urlencode({"mount": digest, "from": source})
        scope = f"{_scope(repository, 'pull,push')} {_scope(source)}"
        reply = self._send("POST", f"/v2/{repository}/blobs/uploads/?{asked}", scope)
        self._require(reply, _CREATED, _ACCEPTED)
        return self._locate(reply) if reply.status == _ACCEPTED else ""

    def start_upload(self, repository: str) -> str:
        path = f"/v2/{repository}/blobs/uploads/"
        reply = self._send("POST", path, _scope(repository, "pull,push"))
        self._require(reply, _ACCEPTED)
        return self._locate(reply)

    def send_chunk(self, repository: str, location: str, content: bytes, start: int) -> str:
        """Send a part of a blob, and return the address of the next part."""
        part = {"Content-Range": f"{start}-{start + len(content) - 1}", "Content-Type": _BINARY}
        scope = _scope(repository, "pull,push")
        reply = self._send("PATCH", location, scope, part, content)
        self._require(reply, _ACCEPTED)
        return self._locate(reply)

    def finish_upload(
        self, repository: str, location: str, digest: str, content: bytes = b""
    ) -> None:
        """End an upload with the rest of the bytes. The address can have a query already."""
        separator = "&" if urlsplit(location).query else "?"
        url = f"{location}{separator}{urlencode({'digest': digest})}"
        kind = {"Content-Type": _BINARY}
        reply = self._send("PUT", url, _scope(repository, "pull,push"), kind, content)
        self._require(reply, _CREATED)

    def write_manifest(self, repository: str, version: str, content: bytes) -> bool:
        """Write a manifest under a tag or its digest. Returns whether the registry has all its
        blobs."""
        kind = str(json.loads(content)["mediaType"])
        path = f"/v2/{repository}/manifests/{version}"
        scope = _scope(repository, "pull,push")
        reply = self._send("PUT", path, scope, {"Content-Type": kind}, content)
        if not reply.ok and b"BLOB_UNKNOWN" in reply.content:
            return False
        self._require(reply, _CREATED)
        return True

    def delete_manifest(self, repository: str, digest: str) -> bool:
        """Delete an image. Returns whether the registry permits that."""
        path = f"/v2/{repository}/manifests/{digest}"
        reply = self._send("DELETE", path, _scope(repository, "pull,push,delete"))
        if reply.status in (_UNAUTHORIZED, _FORBIDDEN):
            self._require(reply, _ACCEPTED)
        return reply.ok or reply.status == _MISSING

    def _send(
        self,
        method: str,
        path: str,
        scope: str,
        headers: Mapping[str, str] | None = None,
        content: bytes = b"",
    ) -> HttpReply:
        url = urljoin(self._base, path)

        def send() -> HttpReply:
            given = {**(headers or {}), **self._authorization(url, scope)}
            seconds = _UPLOAD_SECONDS if content else 0.0
            return self._http.send(HttpRequest(method, url, Secret(given), content, seconds))

        reply = send()
        return send() if self._has_new_login(reply, url, scope) else reply

    def _download(self, url: str, scope: str, write: Callable[[bytes], object]) -> HttpReply:
        def send() -> HttpReply:
            headers = Secret(self._authorization(url, scope))
            return self._http.download(HttpRequest("GET", url, headers), write)

        reply = send()
        return send() if self._has_new_login(reply, url, scope) else reply

    def _authorization(self, url: str, scope: str) -> Mapping[str, str]:
        return self._authorizer.header(scope) if self._is_own(url) else {}

    def _has_new_login(self, reply: HttpReply, url: str, scope: str) -> bool:
        if reply.status != _UNAUTHORIZED or not self._is_own(url):
            return False
        challenge = parse_challenge(reply.headers.get("www-authenticate", ""))
        return self._authorizer.answer(challenge, scope)

    def _is_own(self, url: str) -> bool:
        return _origin(url) == _origin(self._base)

    def _locate(self, reply: HttpReply) -> str:
        return urljoin(self._base, reply.headers.get("location", ""))

    def _exists(self, reply: HttpReply) -> bool:
        if reply.status == _MISSING:
            return False
        self._require(reply, _OK)
        return True

    def _require(self, reply: HttpReply, *statuses: int) -> None:
        if reply.status in statuses:
            return
        if reply.status in (_UNAUTHORIZED, _FORBIDDEN):
            user, password = name_login_variables(self.name)
            message = f"the registry `{self.name}` denied access (status {reply.status})"
            hint = f"set {user} and {password}: credential helpers of Docker are not called"
            raise FabricError(Problem("credentials/registry", message, hint))
        message = f"the registry `{self.name}` rejected a call: {_read_error(reply)}"
        raise FabricError(Problem("image/refused", message, "check the name of the repository"))

    def _missing_problem(self, repository: str, version: str) -> Problem:
        separator = "@" if version.startswith("sha256:") else ":"
        message = f"image not found: `{self.name}/{repository}{separator}{version}`"
        return Problem("image/not-found", message, "check the name, the tag and the registry")


def _scope(repository: str, actions: str = "pull") -> str:
    return f"repository:{repository}:{actions}"


def _origin(url: str) -> tuple[str, str]:
    address = urlsplit(url)
    return address.scheme, address.netloc


def _read_error(reply: HttpReply) -> str:
    """Return the status, and the first error that the registry reports."""
    try:
        first = json.loads(reply.content)["errors"][0]
        words = f"{first['code']}: {first.get('message', '')}"
    except (ValueError, KeyError, IndexError, TypeError, AttributeError):
        return f"status {reply.status}"
    return f"status {reply.status}, {' '.join(words.split())[:_LONGEST]}"


# Authorization of calls: basic, or a token from the service that a challenge names.
_CHALLENGE = re.compile(r"\s*([A-Za-z]+)\s+(.*)", re.DOTALL)
_PARAMETER = re.compile(r'([A-Za-z_]+)\s*=\s*(?:"([^"]*)"|([^\s,]+))')
_FORM = "application/x-www-form-urlencoded"


class Challenge(Struct, frozen=True):
    """The content of `WWW-Authenticate`."""

    scheme: str
    realm: str = ""
    service: str = ""
    scope: str = ""


def parse_challenge(header: str) -> Challenge | None:
    found = _CHALLENGE.match(header)
    if found is None:
        return None
    words = {key.lower(): one or two for key, one, two in _PARAMETER.findall(found[2])}
    named = {key: words.get(key, "") for key in ("realm", "service", "scope")}
    return Challenge(found[1].lower(), **named)


class _Token(Struct, frozen=True):
    token: str = ""
    access_token: str = ""


class Authorizer:
    """The tokens of one registry, for this process only. Thread-safe."""

    def __init__(
        self,
        login: RegistryLogin | None,
        send: Callable[[HttpRequest], HttpReply],
        *,
        insecure: bool = False,
    ) -> None:
        self._login = login
        self._send = send
        self._insecure = insecure
        self._guard = threading.Lock()
        self._known: dict[str, Secret[str]] = {}

    def header(self, scope: str) -> Mapping[str, str]:
        """Return the header for calls of this scope, as far as it is known."""
        with self._guard:
            known = self._known.get(scope)
        return {"Authorization": known.reveal()} if known else {}

    def answer(self, challenge: Challenge | None, scope: str) -> bool:
        """Get an authorization for a challenge. Returns whether a second call can succeed."""
        value = self._find_value(challenge, scope) if challenge else None
        if challenge is None or value is None:
            return False
        with self._guard:
            was, self._known[scope] = self._known.get(scope), value
        # A token can have expired; a login that was rejected once is rejected again.
        return challenge.scheme == "bearer" or was is None

    def _find_value(self, challenge: Challenge, scope: str) -> Secret[str] | None:
        if challenge.scheme == "basic":
            return self._login.basic if self._login else None
        if challenge.scheme == "bearer" and self._is_trusted(challenge.realm):
            return self._fetch_token(challenge, challenge.scope or scope)
        return None

    def _is_trusted(self, realm: str) -> bool:
        address = urlsplit(realm)
        is_local = is_loopback(address.netloc) or self._insecure
        return address.scheme == "https" or (address.scheme == "http" and is_local)

    def _fetch_token(self, challenge: Challenge, scope: str) -> Secret[str] | None:
        reply = self._send(self._build_token_request(challenge, scope))
        if not reply.ok:
            return None
        try:
            found = msgspec.json.decode(reply.content, type=_Token)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return None
        token = found.token or found.access_token
        return Secret(f"Bearer {token}") if token else None

    def _build_token_request(self, challenge: Challenge, scope: str) -> HttpRequest:
        asked = {"service": challenge.service, "scope": scope}
        asked = {name: text for name, text in asked.items() if text}
        login = self._login
        if login and login.identity_token.reveal():
            form = {
                **asked,
                "grant_type": "refresh_token",
                "client_id": "fabric",
                "refresh_token": login.identity_token.reveal(),
            }
            content = urlencode(form).encode()
            return HttpRequest("POST", challenge.realm, Secret({"Content-Type": _FORM}), content)
        separator = "&" if urlsplit(challenge.realm).query else "?"
        given = {"Authorization": login.basic.reveal()} if login else {}
        return HttpRequest("GET", f"{challenge.realm}{separator}{urlencode(asked)}", Secret(given))
