"""Client of the DigitalOcean API, which manages namespaces with their keys, and schedules.

The OpenWhisk host of a namespace runs the functions.
"""

import base64
from typing import TypeVar
from urllib.parse import quote

from msgspec import Struct
from msgspec.structs import replace

from fabric.model.problems import FabricError, Problem
from fabric.model.secret import Secret
from fabric.providers.core.errors import RefusedCallError
from fabric.providers.core.http_calls import ProviderCall, decode_reply, send_with_login
from fabric.providers.whisk.client import WhiskApi, WhiskDoor
from fabric.system.http_client import Http
from fabric.system.urls import is_plain

T = TypeVar("T")
_NAMESPACES = "/v2/functions/namespaces"
_GONE, _LOGIN = 404, 401


class Cloud5Account(Struct, frozen=True):
    """The account. If `api_host` is set, it replaces the host of the namespace."""

    base_url: str
    token: Secret[str]
    namespace: str
    api_host: str = ""


class _NamespaceRow(Struct, frozen=True):
    namespace: str
    api_host: str
    uuid: str
    key: str


class _NamespaceAnswer(Struct, frozen=True):
    namespace: _NamespaceRow


class _Cloud5Refusal(Struct, frozen=True):
    id: str = ""
    message: str = ""


class Cloud5Api(WhiskApi):
    def __init__(self, account: Cloud5Account, http: Http | None = None) -> None:
        super().__init__("cloud5-functions", self._fetch_door, http)
        self._account = account

    def own(self, call: ProviderCall, kind: type[T]) -> T:
        """Make a call whose path is relative to the namespace."""
        return self._send_namespace_call(self.http, call, kind)

    def _send_namespace_call(self, http: Http, call: ProviderCall, kind: type[T]) -> T:
        account = self._account
        path = f"{_NAMESPACES}/{quote(account.namespace, safe='')}{call.path}"
        asked = ProviderCall(call.method, path, call.content, call.content_type)
        login = Secret(f"Bearer {account.token.reveal()}")
        reply = send_with_login(http, account.base_url, login, asked)
        if reply.ok:
            return decode_reply(asked, replace(reply, content=reply.content or b"null"), kind)
        said = decode_reply(asked, reply, _Cloud5Refusal)
        raise RefusedCallError(reply.status, said.message or said.id, asked.title)

    def _fetch_door(self, http: Http) -> WhiskDoor:
        try:
            row = self._send_namespace_call(
                http, ProviderCall("GET", ""), _NamespaceAnswer
            ).namespace
        except RefusedCallError as error:
            if error.status == _GONE:
                raise RefusedCallError(_LOGIN, error.words, error.call) from error
            raise
        said = self._account.api_host or row.api_host
        url = said if "://" in said else f"https://{said}"
        if is_plain(url):
            message = f"the namespace host `{url}` uses plain HTTP, which would expose the key"
            raise FabricError(Problem("credentials/plain-endpoint", message))
        key = f"{row.uuid}:{row.key}"
        login = base64.b64encode(key.encode()).decode()
        return WhiskDoor(url, row.namespace, Secret(f"Basic {login}"), Secret(row.key))
