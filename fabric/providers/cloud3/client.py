"""Client of Azure: tokens per audience, calls to Azure Resource Manager and to apps, and error
messages."""

import json
import re
import threading
from collections.abc import Callable
from typing import TypeVar
from urllib.parse import quote

from msgspec import Struct, field

from fabric.model.hashing import hash_fields
from fabric.model.outcomes.json_struct import JsonObject
from fabric.model.problems import Problem
from fabric.model.secrets.secret import Secret
from fabric.providers.cloud3.hosting import FLEX, HOSTINGS, Hosting
from fabric.providers.cloud3.tokens import Cloud3Identity, request_token
from fabric.providers.core.contract import DeploymentAddress
from fabric.providers.core.errors import Judged, Quoted, RefusedCallError, format_generic_hint
from fabric.providers.core.http_calls import (
    ProviderCall,
    decode_reply,
    open_provider_http,
    send_with_token,
)
from fabric.providers.core.release_state import read_kept_texts
from fabric.providers.core.triggers import shorten_name
from fabric.providers.core.whole_service import WholeOwner
from fabric.providers.core.work import ApiWork
from fabric.system.clock import SystemClock
from fabric.system.crypto.signed_tokens import RequestedToken, StoredToken
from fabric.system.http.http_client import Http, HttpReply, HttpRequest
from fabric.system.retry import TransientError

T = TypeVar("T")
TITLE = "Azure"
PROVIDER_ID = "cloud3-functions"
MANAGEMENT = "https://management.azure.com"
# The forms of the addresses of a storage account, and of an app or its publishing host.
STORAGE = "https://{account}.{service}.core.windows.net"
SITES = "https://{host}"
WEB_VERSION = "2025-05-01"
# In a connection string, which Azure could quote.
_ACCOUNT_KEY = re.compile(r"(AccountKey=)[A-Za-z0-9+/=]+")
_LOGIN, _RIGHTS, _CONFLICT = 401, 403, 409
_NO_RIGHTS, _NO_GROUP = "AuthorizationFailed", "ResourceGroupNotFound"
_UNREGISTERED = "MissingSubscriptionRegistration"
# Other operations that end by themselves.
_PASSING = ("another operation is in progress", "AnotherOperationInProgress", "OperationPreempted")
# Azure identifies hosts by the first 32 characters of the name: two apps must not share them.
_NAME_LENGTH, _UNIQUE_LENGTH = 32, 6
APP = "app"


class Cloud3Settings(Struct, frozen=True, rename="camel"):
    """The settings of this provider's config section."""

    app_name: str = ""
    storage_account: str = ""
    maximum_instances: int = 100
    sku: str = FLEX

    @property
    def hosting(self) -> Hosting:
        return HOSTINGS.get(self.sku) or HOSTINGS[FLEX]


class Cloud3Account(Struct, frozen=True, kw_only=True):
    """One resource group, with the identity that deploys to it."""

    identity: Cloud3Identity
    subscription: str
    group: str
    base_url: str = MANAGEMENT
    storage: str = STORAGE
    sites: str = SITES

    @property
    def group_path(self) -> str:
        parts = (self.subscription, self.group)
        subscription, group = (quote(one, safe="") for one in parts)
        return f"/subscriptions/{subscription}/resourceGroups/{group}"


class Cloud3Call(ProviderCall, frozen=True):
    """A call. `base_url` is set for calls to an app or to its publishing host."""

    base_url: str = ""


class HostCall(Cloud3Call, frozen=True):
    """A call to an app, which gets its own key and no token of Azure Resource Manager."""


def build_web_call(method: str, path: str, document: object = None) -> Cloud3Call:
    """Build a call of Microsoft.Web."""
    return build_versioned_call(method, path, WEB_VERSION, document)


def build_versioned_call(
    method: str, path: str, version: str, document: object = None
) -> Cloud3Call:
    content = b"" if document is None else json.dumps(document).encode()
    return Cloud3Call(method, f"{path}?api-version={version}", content)


class Cloud3Fault(Struct, frozen=True):
    code: str = ""
    message: str = ""


class _Refusal(Struct, frozen=True):
    """The body of a rejection, in the two forms of Azure."""

    error: Cloud3Fault = Cloud3Fault()
    code: str = field(default="", name="Code")
    message: str = field(default="", name="Message")

    @property
    def fault(self) -> Cloud3Fault:
        return self.error if self.error.code else Cloud3Fault(self.code, self.message)


class Cloud3Api:
    """A thread-safe client of one resource group."""

    def __init__(self, account: Cloud3Account, http: Http | None = None) -> None:
        self.account = account
        self.http = http or open_provider_http(PROVIDER_ID)
        self.clock = SystemClock()
        self._guard = threading.Lock()
        self._keys: dict[str, Secret[bytes]] = {}
        self._token = self._new_token()

    def close(self) -> None:
        self.http.close()

    def _new_token(self) -> StoredToken:
        def ask() -> RequestedToken:
            return request_token(self.http, self.account.identity, MANAGEMENT)

        return StoredToken(ask, self.clock)

    def once(self, call: ProviderCall, kind: type[T]) -> T:
        """Make a call once. Raises a TransientError if a retry can help, otherwise a
        RefusedCallError."""
        reply = self.reply_once(call)
        if not reply.content:
            reply = HttpReply(reply.status, reply.headers, b"null")
        return decode_reply(call, reply, kind)

    def reply_once(self, call: ProviderCall) -> HttpReply:
        """Make a call once and return its response with the headers. A token that expired early is
        replaced once."""
        reply = self._send(call)
        if reply.status == _LOGIN and not isinstance(call, HostCall):
            with self._guard:
                self._token = self._new_token()
            reply = self._send(call)
        if reply.ok:
            return reply
        raise self._convert_reply(call, reply)

    def _send(self, call: ProviderCall) -> HttpReply:
        base_url = getattr(call, "base_url", "") or self.account.base_url
        if isinstance(call, HostCall):
            url = base_url.rstrip("/") + call.path
            return self.http.send(HttpRequest(call.method, url, Secret(dict(call.headers))))
        return send_with_token(self.http, base_url, Secret(self._token.token()), call)

    def _convert_reply(self, call: ProviderCall, reply: HttpReply) -> Exception:
        try:
            content = reply.content or b"{}"
            found = HttpReply(reply.status, reply.headers, content)
            fault = decode_reply(call, found, _Refusal).fault
        except RefusedCallError as error:
            return UnreadableRefusalError(error.status, error.words, error.call)
        said = _ACCOUNT_KEY.sub(r"\1[REDACTED]", fault.message)
        words = f"{reply.status} {fault.code} {said}".strip()
        if reply.status == _CONFLICT and any(one in words for one in _PASSING):
            return TransientError(f"`{call.title}` returned {words}")
        request = reply.headers.get("x-ms-request-id", "")
        shown = f"{words} (request {request})" if request else words
        return RefusedCallError(reply.status, shown, call.title, frozenset((fault.code,)))

    def find_storage_key(self, name: str, fetch: Callable[[], Secret[bytes]]) -> Secret[bytes]:
        """Return the key of a storage account, which is fetched once per run."""
        with self._guard:
            found = self._keys.get(name)
        if found is None:
            found = fetch()
            with self._guard:
                self._keys[name] = found
        return found

    def forget_storage_key(self, name: str) -> None:
        with self._guard:
            self._keys.pop(name, None)


class UnreadableRefusalError(RefusedCallError):
    """A rejection that does not come from the API: it does not prove that something is missing."""

    is_gone = False


def classify_refusal(whose: str, error: RefusedCallError, quoted: Quoted) -> Problem:
    words = f"{whose}: `{error.call}` was rejected, {quoted(error.words)}"
    if error.status == _LOGIN:
        hint = "check `CLOUD3_CLIENT_ID` and `CLOUD3_TENANT_ID`"
        return Problem("credentials/refused", words, hint)
    if error.status == _RIGHTS or _NO_RIGHTS in error.codes:
        hint = "grant the application the role Contributor of the resource group"
        return Problem("credentials/refused", words, hint)
    if _NO_GROUP in error.codes:
        hint = "create the resource group, or correct `CLOUD3_RESOURCE_GROUP`"
        return Problem("credentials/refused", words, hint)
    if _UNREGISTERED in error.codes:
        hint = "run: az provider register --namespace Microsoft.EventGrid (or that of the message)"
        return Problem("provider/refused", words, hint)
    if error.status == _CONFLICT and "already exists" in error.words:
        hint = f"set another name in `extensions.{PROVIDER_ID}.appName`"
        return Problem("provider/refused", words, hint)
    return Problem("provider/refused", words, format_generic_hint(TITLE))


class Cloud3Work(ApiWork[Cloud3Api], frozen=True, kw_only=True):
    own: Cloud3Settings
    title: str = TITLE
    judged: Judged = classify_refusal

    @property
    def account(self) -> Cloud3Account:
        return self.api.account

    @property
    def owner(self) -> WholeOwner:
        return WholeOwner(self.scope.address.service, self.scope.address.stage)

    @property
    def app(self) -> str:
        """The name of the app: that of the config, of the last release, or the default."""
        noted = read_kept_texts(self.scope.address).texts.get(APP, "")
        return self.own.app_name or noted or choose_app_name(self.account, self.scope.address)

    @property
    def storage(self) -> str:
        """The name of the storage account."""
        unique = hash_fields((self.account.subscription, self.account.group, self.owner.name))
        return self.own.storage_account or f"fabric{unique[:18]}"

    def web(self, rest: str) -> str:
        return f"{self.account.group_path}/providers/Microsoft.Web/{rest}"

    def site(self, rest: str = "") -> str:
        return self.web(f"sites/{self.app}{rest}")


def choose_app_name(account: Cloud3Account, address: DeploymentAddress) -> str:
    """Return a name that no other subscription uses: names of apps are unique worldwide."""
    owner = WholeOwner(address.service, address.stage)
    unique = hash_fields((account.subscription, account.group, owner.name))[:_UNIQUE_LENGTH]
    plain = "".join(
        one if one.isascii() and one.isalnum() else "-"
        for one in f"{address.service}-{address.stage}".lower()
    )
    short = shorten_name(plain, _NAME_LENGTH - _UNIQUE_LENGTH - 1)
    return f"{short}-{unique}".strip("-")


def build_tags(work: Cloud3Work) -> JsonObject:
    address = work.scope.address
    return {
        OWNER_TAG: work.owner.digest,
        "fabric-service": address.service,
        "fabric-stage": address.stage,
    }


OWNER_TAG = "fabric-owner"
