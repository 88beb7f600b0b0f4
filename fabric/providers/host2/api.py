"""Client of the Netlify API: calls with a token, typed responses and error messages."""

from typing import TypeVar
from urllib.parse import quote

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


class Host2Account(Struct, frozen=True):
    """One site, with its endpoint and token."""

    base_url: str
    token: Secret[str]
    site: str

    @property
    def site_path(self) -> str:
        return f"/sites/{quote(self.site, safe='')}"


class Host2Fault(Struct, frozen=True):
    """A validation error with one message or several."""

    message: str = ""
    errors: object = None

    @property
    def words(self) -> str:
        return self.message or (str(self.errors) if self.errors else "")


class Host2Api:
    """Thread-safe API client."""

    def __init__(self, account: Host2Account, http: Http | None = None) -> None:
        self.account = account
        self._http = http or open_provider_http("host2")

    def close(self) -> None:
        self._http.close()

    def once(self, call: ProviderCall, kind: type[T]) -> T:
        """Make a call once. Raises a TransientError if the outcome is unknown, otherwise a
        RefusedCallError."""
        reply = send_with_token(self._http, self.account.base_url, self.account.token, call)
        if reply.ok:
            return decode_reply(call, replace(reply, content=reply.content or b"null"), kind)
        refusal = decode_reply(call, replace(reply, content=reply.content or b"{}"), Host2Fault)
        raise RefusedCallError(reply.status, refusal.words, call.title)
