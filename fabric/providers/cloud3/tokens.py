"""Tokens of Microsoft Entra, each for one audience."""

import json
from pathlib import Path
from urllib.parse import quote, urlencode

from msgspec import Struct

from fabric.model.problems import FabricError, Problem
from fabric.model.secrets.secret import Secret
from fabric.system.crypto.signed_tokens import RequestedToken, parse_token
from fabric.system.files.disk import read_bytes
from fabric.system.http.http_client import Http, HttpReply, HttpRequest

LOGIN = "https://login.microsoftonline.com"
LOGS_AUDIENCE = "https://api.loganalytics.io"
_FORM = "application/x-www-form-urlencoded"
_ASSERTION = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"


class Cloud3Identity(Struct, frozen=True, kw_only=True):
    """An application of a directory, with a client secret or the path of a token file."""

    login_url: str = LOGIN
    tenant: str
    client: str
    secret: Secret[str] = Secret("")
    token_file: str = ""


def request_token(http: Http, identity: Cloud3Identity, audience: str) -> RequestedToken:
    """Request a token that is valid for one audience only."""
    form = {
        "grant_type": "client_credentials",
        "client_id": identity.client,
        "scope": f"{audience}/.default",
    }
    if not identity.token_file:
        form["client_secret"] = identity.secret.reveal()
    else:
        # The platform replaces the token in the file.
        form |= {
            "client_assertion_type": _ASSERTION,
            "client_assertion": _read_assertion(identity.token_file),
        }
    tenant = quote(identity.tenant, safe="")
    url = f"{identity.login_url.rstrip('/')}/{tenant}/oauth2/v2.0/token"
    content = urlencode(form).encode()
    reply = http.send(HttpRequest("POST", url, Secret({"Content-Type": _FORM}), content))
    try:
        if reply.ok:
            return parse_token(reply)
        said = _read_login_error(reply)
    except ValueError as error:
        said = str(error)
    message = f"no token for the application in `CLOUD3_CLIENT_ID`: {said}"
    hint = "check `CLOUD3_TENANT_ID`, `CLOUD3_CLIENT_ID` and `CLOUD3_CLIENT_SECRET`"
    raise FabricError(Problem("credentials/refused", message, hint))


def _read_assertion(path: str) -> str:
    try:
        return read_bytes(Path(path)).decode().strip()
    except (OSError, UnicodeDecodeError) as error:
        message = f"cannot read the file in `CLOUD3_FEDERATED_TOKEN_FILE`: {error}"
        raise FabricError(Problem("credentials/unreadable", message)) from error


def _read_login_error(reply: HttpReply) -> str:
    """Return the number of the error only: its description can contain identifiers."""
    try:
        found = json.loads(reply.content)
        codes = ", ".join(f"AADSTS{int(one)}" for one in found.get("error_codes", ()))
    except (ValueError, AttributeError, TypeError):
        codes = ""
    return codes or f"it returned {reply.status}"
