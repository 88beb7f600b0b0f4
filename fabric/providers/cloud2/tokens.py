"""Google Cloud credentials: an access token, or a token fetched with a service account key."""

from collections.abc import Mapping
from pathlib import Path

from fabric.model.problems import FabricError, Problem
from fabric.model.secret import Secret
from fabric.providers.cloud2.api import Login
from fabric.providers.core.errors import refuse_plain
from fabric.system.clock import Clock, SystemClock
from fabric.system.disk import read_bytes
from fabric.system.http_client import Http
from fabric.system.signed_tokens import (
    AccountKey,
    IssuedToken,
    RequestedToken,
    StoredToken,
    build_token_request,
    parse_token,
    read_account_key,
)

TOKEN, KEY = "CLOUD2_ACCESS_TOKEN", "CLOUD2_SERVICE_ACCOUNT_KEY"
_SCOPE = "https://www.googleapis.com/auth/cloud-platform"


def choose_login(env: Mapping[str, str], folder: Path) -> Login:
    """Choose the access token if it is set, otherwise the key. A key is JSON or the path of a JSON
    file."""
    given = env.get(TOKEN, "")
    if given:
        return Login("a token", lambda _http: IssuedToken(Secret(given)))
    account = read_key_setting(env[KEY], folder)
    refuse_plain(f"token_uri` of `{KEY}", account.uri)
    return Login(account.email, lambda http: _build_token_holder(account, http, SystemClock()))


def read_key_setting(said: str, folder: Path) -> AccountKey:
    try:
        text = said if said.lstrip().startswith("{") else read_bytes(folder / said)
        return read_account_key(text)
    except OSError as error:
        message = f"cannot read the file in `{KEY}`: {error.strerror or error}"
        raise FabricError(Problem("credentials/unreadable", message)) from error
    except ValueError as error:
        message = f"`{KEY}` is not a valid service account key: {error}"
        hint = "set it to the JSON key of the service account, or to the path of the key file"
        raise FabricError(Problem("credentials/unreadable", message, hint)) from error


def _build_token_holder(account: AccountKey, http: Http, clock: Clock) -> StoredToken:
    def ask() -> RequestedToken:
        reply = http.send(build_token_request(account, _SCOPE, int(clock.now().timestamp())))
        try:
            if reply.ok:
                return parse_token(reply)
            said = f"it returned {reply.status}"
        except ValueError as error:
            said = str(error)
        message = f"`{account.uri}` returned no token for `{account.email}`: {said}"
        hint = (
            f"check that the key in `{KEY}` still exists and that the time of this "
            "machine is correct"
        )
        raise FabricError(Problem("credentials/refused", message, hint))

    return StoredToken(ask, clock)
