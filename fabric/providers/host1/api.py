"""host1's interface: calls with a token, answers as typed values, refusals by its own words."""

from collections.abc import Mapping
from typing import TypeVar
from urllib.parse import quote, urlencode

from msgspec import Struct
from msgspec.structs import replace

from fabric.model.secret import Secret
from fabric.providers.http_calls import ProviderCall, opened, sent, understood
from fabric.providers.refused_calls import RefusedCallError
from fabric.system.http_client import Http

T = TypeVar("T")


class Host1Account(Struct, frozen=True):
    """One project, of which team, at which address, with whose token. `sites_url` is where domains
    are met, with `{domain}` in it: empty for the world's own names."""

    base_url: str
    token: Secret[str]
    project: str
    team: str = ""
    sites_url: str = ""

    def path(self, path: str, query: Mapping[str, str] | None = None) -> str:
        """With whatever every call has behind it."""
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
    """A deployment of files that host1 does not have yet; `digests` are theirs."""

    def __init__(self, refusal: RefusedCallError, digests: tuple[str, ...]) -> None:
        super().__init__(refusal.status, refusal.words, refusal.call, refusal.codes)
        self.digests = digests


class Host1Api:
    """Thread-safe."""

    def __init__(self, account: Host1Account, http: Http | None = None) -> None:
        self.account = account
        self._http = http or opened("host1")

    def close(self) -> None:
        self._http.close()

    def once(self, call: ProviderCall, kind: type[T]) -> T:
        """TransientError where nobody knows what became of it; RefusedCallError for a no."""
        reply = sent(self._http, self.account.base_url, self.account.token, call)
        if reply.ok:
            return understood(call, replace(reply, content=reply.content or b"null"), kind)
        said = understood(call, replace(reply, content=reply.content or b"{}"), Host1Fault).error
        refusal = RefusedCallError(reply.status, said.message, call.title, frozenset((said.code,)))
        if said.missing:
            raise MissingFilesError(refusal, said.missing)
        raise refusal
