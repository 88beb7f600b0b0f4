"""Names of credentials, and of the environment variables for them."""

import re

from fabric.model.secrets.secrecy import is_secret_name

_SHORT_NAME = re.compile(
    r"(?:^|[_-])(?:pass|pwd?|passphrase|dsn|jwt|salt|otp_?seed|basic_?auth)"
    r"(?:_(?:dev|test|qa|stage|staging|prod|production|live|[0-9]+))?$|(?:access|private)_?key$|webhook_?url$"
    r"|(?-i:[a-z](?:Pass|Pwd?|Passphrase|Dsn|Jwt)$)",
    re.IGNORECASE,
)
# Keys of tables and public keys, and names that only describe a credential.
_PLAIN_NAME = re.compile(
    r"ALLOW_CREDENTIALS$"
    r"|(?:PARTITION|SORT|HASH|RANGE|PRIMARY|FOREIGN|PUBLIC|INDEX|OBJECT|CACHE|ROUTING|S3|BUCKET)_?KEY"
    r"|[a-z_](?:ARN|_?URL|_?URI|_?NAME|_?PATH|_?FILE|_?ALIAS|_?TTL|_?PREFIX|_?LENGTH|_?EXPIRY"
    r"|_?EXPIRATION|_?HEADER|_?TABLE|_?ENABLED|_?ISSUER|_?AUDIENCE|_?COUNT|_?LIMIT)S?$",
    re.IGNORECASE,
)
# Variables of shells and systems, whose values mean something else.
SYSTEM_VARIABLES = frozenset(
    "CDPATH EDITOR ENV HOME HOST HOSTNAME IFS LANG LOGNAME MAIL NODE_OPTIONS OLDPWD PAGER PATH PORT"
    " PS1 PWD PYTHONPATH SHELL TEMP TERM TMP TMPDIR TZ UID USER USERNAME".split()
)
_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_NOT_IN_NAME = re.compile(r"[^A-Za-z0-9]+")


def name_variable(key: str) -> str:
    """Name the environment variable for a key, such as DB_PASSWORD for `dbPassword`."""
    name = _NOT_IN_NAME.sub("_", _WORD.sub("_", key)).strip("_").upper() or "SECRET"
    return f"_{name}" if name[0].isdigit() else name


def is_credential_name(name: str) -> bool:
    """Return whether a value of this name is a credential, and not the name of one or its limit."""
    name = name.replace("-", "_")
    is_named = is_secret_name(name) or _SHORT_NAME.search(name) is not None
    return is_named and not is_plain_name(name)


def is_plain_name(name: str) -> bool:
    return _PLAIN_NAME.search(name) is not None and _SHORT_NAME.search(name) is None
