"""Client of the Alibaba Cloud API: signed calls, typed responses and error codes."""

import hashlib
import hmac
import secrets
from collections.abc import Iterator, Mapping
from typing import Protocol, TypeVar
from urllib.parse import parse_qsl, quote, urlsplit

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from fabric.model.problems import Problem
from fabric.model.secrets.secret import Secret
from fabric.providers.cloud4.settings import Cloud4Place, Cloud4Settings
from fabric.providers.core.errors import (
    Judged,
    Quoted,
    RefusedCallError,
    format_generic_hint,
    ignore_missing,
)
from fabric.providers.core.http_calls import ProviderCall, decode_reply, open_provider_http
from fabric.providers.core.work import ApiWork
from fabric.system.clock import Clock, SystemClock
from fabric.system.http.http_client import Http, HttpReply, HttpRequest
from fabric.system.retry import TransientError

T = TypeVar("T")
_JSON = "application/json; charset=utf-8"
# Somebody else's change came between, or is under way: whoever looks again may go on.
_PASSING = frozenset(
    (
        *("FunctionAlreadyExists", "AliasAlreadyExists", "TriggerAlreadyExists"),
        *("ConcurrentUpdateError", "ResourceThrottled", "Throttling", "Throttling.User"),
        *("Throttling.Api", "FunctionNotReady", "InvalidFunctionState"),
    )
)


class Cloud4Call(Struct, frozen=True):
    """One API call. `action` is its API name; `parts` is its path below all functions."""

    action: str
    method: str
    parts: tuple[str, ...] = ()
    query: tuple[tuple[str, str], ...] = ()
    content: bytes = b""
    content_type: str = _JSON
    headers: tuple[tuple[str, str], ...] = ()
    path: str = ""
    seconds: float = 0.0

    @property
    def sent(self) -> ProviderCall:
        path = self.path or "/".join((_FUNCTIONS, *(quote(one, safe="") for one in self.parts)))
        pairs = "&".join(f"{name}={quote(text, safe='-_.~')}" for name, text in self.query)
        whole = path + (f"?{pairs}" if pairs else "")
        return ProviderCall(self.method, whole, self.content, self.content_type, self.headers)


def build_cloud4_call(
    action: str, method: str, parts: tuple[str, ...], document: object
) -> Cloud4Call:
    return Cloud4Call(action, method, parts, content=msgspec.json.encode(document))


class _Cloud4Fault(Struct, frozen=True):
    """An error response; the API uses both spellings of its fields."""

    upper_code: str = msgspec.field(default="", name="Code")
    upper_message: str = msgspec.field(default="", name="Message")
    lower_code: str = msgspec.field(default="", name="code")
    lower_message: str = msgspec.field(default="", name="message")

    @property
    def code(self) -> str:
        return self.upper_code or self.lower_code

    @property
    def words(self) -> str:
        return " ".join(filter(None, (self.code, self.upper_message or self.lower_message)))


VERSION = "2023-03-30"
_FUNCTIONS = f"/{VERSION}/functions"
_ALGORITHM = "ACS3-HMAC-SHA256"
_SIGNED = ("content-type", "host")
_SIGNED_BEGINS = "x-acs-"


class AccessKey(Struct, frozen=True):
    ident: str
    secret: Secret[str]


class Cloud4Api:
    """Thread-safe API client."""

    def __init__(
        self,
        base_url: str,
        key: AccessKey,
        http: Http | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.key = key
        self._base_url = base_url.rstrip("/")
        self._http = http or open_provider_http("cloud4-fc")
        self._clock = clock or SystemClock()

    def close(self) -> None:
        self._http.close()

    def once(self, call: Cloud4Call, kind: type[T]) -> T:
        """Make a call once. Raises a TransientError if a retry can help, otherwise a
        RefusedCallError."""
        reply = self.reply(call)
        return decode_reply(call.sent, replace(reply, content=reply.content or b"null"), kind)

    def reply(self, call: Cloud4Call) -> HttpReply:
        """Return the raw response of a successful call."""
        sent = call.sent
        url = self._base_url + sent.path
        headers = {**self._sign_call(call, url), **dict(sent.headers)}
        reply = self._http.send(
            HttpRequest(sent.method, url, Secret(headers), sent.content, call.seconds)
        )
        if reply.ok:
            return reply
        fault = decode_reply(sent, replace(reply, content=reply.content or b"{}"), _Cloud4Fault)
        if fault.code in _PASSING or reply.status == CONFLICT:
            raise TransientError(f"`{sent.title}` returned {fault.words}")
        codes = frozenset((fault.code,)) - {""}
        raise RefusedCallError(reply.status, fault.words, sent.title, codes)

    def _sign_call(self, call: Cloud4Call, url: str) -> Mapping[str, str]:
        now = self._clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
        moment = SignedMoment(now, secrets.token_hex(16))
        headers = build_signed_headers(call.sent, urlsplit(url).netloc, call.action, moment)
        login = sign_headers(self.key, call.method, url, headers)
        return {**headers, "accept": "application/json", "authorization": login.reveal()}


class SignedMoment(Struct, frozen=True):
    """The time of a call and a unique nonce."""

    time: str
    nonce: str


def build_signed_headers(
    call: ProviderCall, host: str, action: str, moment: SignedMoment
) -> dict[str, str]:
    """Build all signed headers, with lowercase names."""
    return {
        "host": host,
        "x-acs-action": action,
        "x-acs-version": VERSION,
        "x-acs-date": moment.time,
        "x-acs-signature-nonce": moment.nonce,
        "x-acs-content-sha256": hashlib.sha256(call.content).hexdigest(),
        **({"content-type": call.content_type} if call.content else {}),
    }


def sign_headers(key: AccessKey, method: str, url: str, headers: Mapping[str, str]) -> Secret[str]:
    place = urlsplit(url)
    names = sorted(one for one in headers if one in _SIGNED or one.startswith(_SIGNED_BEGINS))
    pairs = sorted(parse_qsl(place.query, keep_blank_values=True))
    asked = "\n".join(
        (
            method,
            place.path or "/",
            "&".join(f"{name}={quote(value, safe='-_.~')}" for name, value in pairs),
            *(f"{name}:{headers[name].strip()}" for name in names),
            "",
            ";".join(names),
            headers["x-acs-content-sha256"],
        )
    )
    to_sign = f"{_ALGORITHM}\n{hashlib.sha256(asked.encode()).hexdigest()}"
    secret = key.secret.reveal().encode()
    signature = hmac.new(secret, to_sign.encode(), "sha256").hexdigest()
    signed = ";".join(names)
    return Secret(
        f"{_ALGORITHM} Credential={key.ident},SignedHeaders={signed},Signature={signature}"
    )


CONFLICT = 409
_LOGIN, _RIGHTS = 401, 403
_KEYS = frozenset(
    (
        *("SignatureDoesNotMatch", "SignatureNotMatch", "InvalidAccessKeyId", "MissingAccessKey"),
        *("InvalidAccessKeyId.NotFound", "InvalidAccessKeyId.Inactive", "InvalidAccessKeySecret"),
        *("IncompleteSignature", "InvalidSecurityToken"),
    )
)
_CLOCK = frozenset(("InvalidTimeStamp.Expired", "IllegalTimestamp", "InvalidTimeStamp"))


def classify_refusal(whose: str, error: RefusedCallError, quoted: Quoted) -> Problem:
    words = f"{whose}: `{error.call}` was rejected, {quoted(error.words)}"
    if error.codes & _CLOCK:
        hint = "check the time of this machine: requests are signed with it"
        return Problem("credentials/refused", words, hint)
    if error.codes & _KEYS or error.status == _LOGIN:
        hint = "check `CLOUD4_ACCESS_KEY_ID` and `CLOUD4_ACCESS_KEY_SECRET`"
        return Problem("credentials/refused", words, hint)
    if error.status == _RIGHTS:
        hint = "check the account and the permissions listed in the Function Compute guide"
        return Problem("credentials/refused", words, hint)
    return Problem("provider/refused", words, format_generic_hint("Alibaba Cloud"))


_PAGE = 100


class Cloud4Page(Protocol):
    """One page of a list, with the token of the next page; empty at the end."""

    @property
    def next_token(self) -> str: ...


P = TypeVar("P", bound=Cloud4Page)


class Cloud4Work(ApiWork[Cloud4Api], frozen=True, kw_only=True):
    """The context of one call. `place` comes from the environment."""

    title: str = "Alibaba Cloud"
    judged: Judged = classify_refusal
    own: Cloud4Settings
    place: Cloud4Place

    def pages(self, action: str, parts: tuple[str, ...], kind: type[P]) -> Iterator[P]:
        """Yield the pages of a list; none if the resource does not exist."""
        token = ""
        while True:
            more = (("nextToken", token),) if token else ()
            call = Cloud4Call(action, "GET", parts, (("limit", str(_PAGE)), *more))
            page = self.look(call, kind)
            if page is None:
                return
            yield page
            token = page.next_token
            if not token:
                return

    def delete(self, action: str, *parts: str) -> None:
        """Delete a resource. A missing one is not an error."""
        with ignore_missing():
            self.ask(Cloud4Call(action, "DELETE", parts), object)
