"""Terraform states: files of the project, objects of S3 and Google Cloud Storage, and web pages."""

import json
import urllib.parse
from base64 import b64encode
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from fabric.model.problems import FabricError, Problem
from fabric.model.secrets.secret import Secret
from fabric.system.clock import SystemClock
from fabric.system.crypto.signed_tokens import build_token_request, parse_token, read_account_key
from fabric.system.files.disk import read_bytes
from fabric.system.http.http_client import Http, HttpReply, HttpRequest, open_http
from fabric.system.http.urls import is_plain
from fabric.system.retry import Patience, TransientError

_VERSION = 4
_MOST_BYTES = 64 << 20
_GOOGLE = "https://storage.googleapis.com"
_GOOGLE_SCOPE = "https://www.googleapis.com/auth/devstorage.read_only"
_NOT_FOUND = 404
_REFUSED = (401, 403)
_PATIENCE = Patience(3, 0.5, 4.0)


class TerraformStates(Struct, frozen=True):
    """Reads states. `read_object` returns an object of S3 by its bucket and key."""

    env: Secret[Mapping[str, str]]
    folder: Path
    read_object: Callable[[str, str], bytes]

    def read(self, source: str) -> Mapping[str, Any]:
        """Return a state; empty if it does not exist."""
        content = self._fetch(source)
        return {} if content is None else _parse_state(source, content)

    def _fetch(self, source: str) -> bytes | None:
        address = urllib.parse.urlsplit(source)
        if address.password:
            message = f"the address of a Terraform state at {address.hostname} contains a password"
            hint = "set FABRIC_TF_HTTP_ADDRESS, FABRIC_TF_HTTP_USERNAME and FABRIC_TF_HTTP_PASSWORD"
            raise FabricError(Problem("config/unresolved-reference", message, hint))
        match address.scheme:
            case "s3":
                return self.read_object(address.netloc, address.path.lstrip("/"))
            case "gs":
                return self._download(source, self._build_google_request(address))
            case "http" | "https":
                return self._download(source, self._build_web_request(source))
            case "":
                return _read_file(self.folder / source)
            case scheme:
                message = f"unsupported address `{scheme}://` of a Terraform state"
                hint = "use a file of the project, s3://bucket/key, gs://bucket/object or https://"
                raise FabricError(Problem("config/unresolved-reference", message, hint))

    def _build_web_request(self, source: str) -> HttpRequest:
        """Credentials are sent only to the server that the shell names: a config could name any."""
        if is_plain(source):
            message = f"the Terraform state `{source}` would be read without encryption"
            raise FabricError(Problem("config/unresolved-reference", message, "use https://"))
        said = self.env.reveal()
        server, password = said.get("FABRIC_TF_HTTP_ADDRESS"), said.get("FABRIC_TF_HTTP_PASSWORD")
        if not server or not password or _read_origin(server) != _read_origin(source):
            return HttpRequest("GET", source)
        login = f"{said.get('FABRIC_TF_HTTP_USERNAME', '')}:{password}"
        basic = f"Basic {b64encode(login.encode()).decode()}"
        return HttpRequest("GET", source, Secret({"Authorization": basic}))

    def _build_google_request(self, address: urllib.parse.SplitResult) -> HttpRequest:
        endpoint = self.env.reveal().get("OBJSTORE2_ENDPOINT_URL") or _GOOGLE
        if is_plain(endpoint):
            message = "`OBJSTORE2_ENDPOINT_URL` uses plain HTTP, which would reveal the token"
            raise FabricError(Problem("config/unresolved-reference", message, "use https://"))
        name = urllib.parse.quote(address.path.lstrip("/"), safe="")
        url = f"{endpoint}/storage/v1/b/{address.netloc}/o/{name}?alt=media"
        return HttpRequest("GET", url, Secret({"Authorization": f"Bearer {self._read_token()}"}))

    def _read_token(self) -> str:
        said = self.env.reveal()
        if token := said.get("OBJSTORE2_ACCESS_TOKEN"):
            return token
        file = said.get("OBJSTORE2_CREDENTIALS_FILE")
        if not file:
            message = "cannot read Terraform states from Google Cloud Storage without credentials"
            hint = "set OBJSTORE2_CREDENTIALS_FILE or OBJSTORE2_ACCESS_TOKEN"
            raise FabricError(Problem("credentials/missing", message, hint))
        try:
            account = read_account_key(read_bytes(self.folder / file))
            now = int(SystemClock().now().timestamp())
            reply = _send("the token service", build_token_request(account, _GOOGLE_SCOPE, now))
            return parse_token(reply).text.reveal()
        except (OSError, ValueError) as error:
            message = f"cannot get a token with the key in `OBJSTORE2_CREDENTIALS_FILE`: {error}"
            raise FabricError(Problem("credentials/refused", message)) from error

    def _download(self, source: str, request: HttpRequest) -> bytes | None:
        whose = f"the Terraform state `{source}`"
        reply = _send(whose, request)
        if reply.ok:
            return reply.content
        if reply.status == _NOT_FOUND:
            return None
        message = f"cannot read {whose}: the server returned status {reply.status}"
        if reply.status in _REFUSED:
            hint = "check the credentials (see `Bindings` in the guide of the config)"
            raise FabricError(Problem("credentials/refused", message, hint))
        raise FabricError(Problem("provider/refused", message, "check the address"))


def _send(whose: str, request: HttpRequest) -> HttpReply:
    http: Http = open_http(_PATIENCE, _MOST_BYTES)
    try:
        return http.send(request)
    except TransientError as error:
        message = f"cannot read {whose}: {error}"
        raise FabricError(Problem("provider/unreachable", message, "check the address")) from error
    finally:
        http.close()


def _read_file(path: Path) -> bytes | None:
    try:
        return read_bytes(path)
    except FileNotFoundError:
        return None


def _read_origin(url: str) -> tuple[str, str | None, int | None]:
    address = urllib.parse.urlsplit(url)
    return (address.scheme, address.hostname, address.port)


def _parse_state(source: str, content: bytes) -> Mapping[str, Any]:
    try:
        state = json.loads(content)
    except ValueError as error:
        message = f"the Terraform state `{source}` is not valid JSON"
        raise FabricError(Problem("config/unresolved-reference", message)) from error
    if not isinstance(state, dict) or state.get("version") != _VERSION:
        message = f"the Terraform state `{source}` is not of version {_VERSION}"
        hint = "use a state of Terraform 0.12 or later, or of OpenTofu"
        raise FabricError(Problem("config/unresolved-reference", message, hint))
    return state
