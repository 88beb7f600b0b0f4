"""Access tokens for objstore2: a given token, or one from a service account."""

from pathlib import Path

from fabric.state.backends.failures import (
    no_credentials_error,
    report_unreachable,
    store_failure_error,
    store_refusal_error,
)
from fabric.system.clock import Clock
from fabric.system.disk import read_bytes
from fabric.system.http_client import Http
from fabric.system.signed_tokens import (
    AccountKey,
    RequestedToken,
    StoredToken,
    build_token_request,
    parse_token,
    read_account_key,
)

CREDENTIALS = "OBJSTORE2_CREDENTIALS_FILE or OBJSTORE2_ACCESS_TOKEN"
_SCOPE = "https://www.googleapis.com/auth/devstorage.read_write"


class ServiceAccount:
    """Thread-safe. Fetches a new token before the last one expires."""

    def __init__(self, file: Path, http: Http, clock: Clock) -> None:
        self._account = _read(file)
        self._http = http
        self._clock = clock
        self._held = StoredToken(self._fetch, clock)

    def token(self) -> str:
        return self._held.token()

    def _fetch(self) -> RequestedToken:
        now = int(self._clock.now().timestamp())
        with report_unreachable("the token service of objstore2"):
            reply = self._http.send(build_token_request(self._account, _SCOPE, now))
        if not reply.ok:
            whose = f"the token service for {self._account.email}"
            raise store_refusal_error(whose, f"status {reply.status}")
        try:
            return parse_token(reply)
        except ValueError as error:
            raise store_failure_error("the token service of objstore2", str(error)) from error


def _read(file: Path) -> AccountKey:
    try:
        return read_account_key(read_bytes(file))
    except OSError as error:
        raise no_credentials_error(f"objstore2: cannot read `{file}`", CREDENTIALS) from error
    except ValueError as error:
        raise no_credentials_error(f"objstore2: `{file}`: {error}", CREDENTIALS) from error
