"""Client of the Vercel API: calls with a token, typed responses and error messages."""

from collections.abc import Mapping
from typing import TypeVar
from urllib.parse import quote, urlencode

from msgspec import Struct
from msgspec.structs import replace

from fabric.model.secret import Secret
from fabric.providers.core.errors import RefusedCallError
from fabric.providers.core.http_calls import (
    ProviderCall,
    decode_reply,
    open_provider_http,
    send_with_token,
)
from fabric.system.http_client import Http

T = TypeVar("T")


class Host1Account(Struct, frozen=True):
    """One project with its team, endpoint and token."""

    base_url: str
    token: Secret[str]
    project: str
    team: str = ""
    # Replaces public domains, with a `{domain}` placeholder; empty by default.
    sites_url: str = ""

    def path(self, path: str, query: Mapping[str, str] | None = None) -> str:
        """Append the query parameters that every call needs."""
        whole = {**(query or {}), **({"teamId": self.team} if self.team else {})}
        return path + (f"?{urlencode(whole)}" if whole else "")

    def project_path(self, version: str, rest: str = "") -> str:
        return f"/{version}/projects/{quote(self.project, safe='')}{rest}"

    def endpoint(self, domain: str) -> str:
        return self.sites_url.replace("{domain}", domain) or f"https://{domain}"


class _FaultText(Struct, frozen=True):
    code: str = ""
    message: str = ""
    missing: tuple[str, ...] = ()


class Host1Fault(Struct, frozen=True):
    error: _FaultText = _FaultText()


class MissingFilesError(RefusedCallError):
    """A deployment lacks files at Vercel; `digests` are their hashes."""

    def __init__(self, refusal: RefusedCallError, digests: tuple[str, ...]) -> None:
        super().__init__(refusal.status, refusal.words, refusal.call, refusal.codes)
        self.digests = digests


class Host1Api:
    """Thread-safe API client."""

    def __init__(self, account: Host1Account, http: Http | None = None) -> None:
        self.account = account
        self._http = http or open_provider_http("host1")

    def close(self) -> None:
        self._http.close()

    def once(self, call: ProviderCall, kind: type[T]) -> T:
        """Make a call once. Raises a TransientError if the outcome is unknown, otherwise a
        RefusedCallError."""
        reply = send_with_token(self._http, self.account.base_url, self.account.token, call)
        if reply.ok:
            return decode_reply(call, replace(reply, content=reply.content or b"null"), kind)
        said = decode_reply(call, replace(reply, content=reply.content or b"{}"), Host1Fault).error
        refusal = RefusedCallError(reply.status, said.message, call.title, frozenset((said.code,)))
        if said.missing:
            raise MissingFilesError(refusal, said.missing)
        raise refusal
