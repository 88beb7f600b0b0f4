"""The account of objstore3, from the environment."""

import base64
import binascii
import re
from collections.abc import Mapping

from fabric.model.secrets.secret import Secret
from fabric.state.backends.failures import no_credentials_error
from fabric.system.crypto.shared_key import Objstore3Account

CREDENTIALS = "OBJSTORE3_CONNECTION_STRING, or OBJSTORE3_ACCOUNT and OBJSTORE3_KEY"
_PLACE = "objstore3"
# It becomes a part of the host.
_NAME = re.compile(r"[A-Za-z0-9-]{1,63}")


def read_objstore3_account(env: Mapping[str, str]) -> Objstore3Account:
    words = _parse_connection_string(env.get("OBJSTORE3_CONNECTION_STRING", ""))
    name = words.get("AccountName") or env.get("OBJSTORE3_ACCOUNT", "")
    key = words.get("AccountKey") or env.get("OBJSTORE3_KEY", "")
    if not name or not key:
        raise no_credentials_error(_PLACE, CREDENTIALS)
    if not _NAME.fullmatch(name):
        raise no_credentials_error(f"{_PLACE}: invalid account name", CREDENTIALS)
    scheme = words.get("DefaultEndpointsProtocol") or "https"
    suffix = words.get("EndpointSuffix") or "core.windows.net"
    chosen = env.get("OBJSTORE3_ENDPOINT_URL") or words.get("BlobEndpoint")
    return Objstore3Account(
        name, Secret(_decode_key(key)), chosen or f"{scheme}://{name}.blob.{suffix}"
    )


def _parse_connection_string(text: str) -> dict[str, str]:
    """Parse a connection string `Name=value;…`. A value can contain `=`."""
    pairs = (part.partition("=") for part in text.split(";") if part.strip())
    return {name.strip(): value.strip() for name, _, value in pairs}


def _decode_key(key: str) -> bytes:
    try:
        return base64.b64decode(key, validate=True)
    except (binascii.Error, ValueError):
        raise no_credentials_error(
            f"{_PLACE}: the account key is not base64", CREDENTIALS
        ) from None
