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
    r"|_?EXPIRATION|_?HEADER|_?TABLE|_?ENABLED|_?ISSUER|_?AUDIENCE|_?COUNT|_?LIMIT|_PORT)S?$",
    re.IGNORECASE,
)
# Variables of shells and systems, whose values mean something else.
SYSTEM_VARIABLES = frozenset(
    "CDPATH EDITOR ENV HOME HOST HOSTNAME IFS LANG LOGNAME MAIL NODE_OPTIONS OLDPWD PAGER PATH PORT"
    " PS1 PWD PYTHONPATH SHELL TEMP TERM TMP TMPDIR TZ UID USER USERNAME".split()
)
# Names that describe the use or a limit of a credential, if their value fits.
_DESCRIBED = re.compile(
    r"(?:^|_)(?:MAX|MIN|USE|ENABLE|REQUIRE|ALLOW|DISABLE|SKIP)_|_(?:TYPE|MODE|KIND|USE|POLICY|FIELD"
    r"|PARAM|VERSION|FORMAT|ALGORITHM|SCOPE|SIZE|REQUIRED|TIMEOUT|LIFETIME|ROTATION)S?$"
    r"|_(?:SECONDS|MINUTES|HOURS|DAYS|MS)$|TOKENS_PER_|_TOKENS$",
    re.IGNORECASE,
)
_PLAIN_WORD = re.compile(r"[A-Za-z][A-Za-z_. -]{0,30}|v?[0-9]{1,7}(?:\.[0-9]{1,3})?")
# Kinds of access, which are the values of keys such as `Authorization`.
_ACCESS_KINDS = frozenset(
    "none null yes no on off enabled disabled aws_iam jwt custom request bearer basic api_key"
    " cognito_user_pools".split()
)
# Names of addresses, whose last part is not a credential.
_ADDRESS = re.compile(r"https?://[a-z0-9.-]+(?::[0-9]{1,5})?(?:/[a-z0-9._-]{0,24})*", re.IGNORECASE)
_IN_PATH = re.compile(r"webhook|hook$", re.IGNORECASE)
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


def is_plain_value(name: str, text: str) -> bool:
    """Return whether a value with the name of a credential only describes one: a kind of access, a
    limit, or an address without a part that can be a credential."""
    if text.lower() in _ACCESS_KINDS:
        return True
    words = _WORD.sub("_", name.replace("-", "_"))
    if _DESCRIBED.search(words) and _PLAIN_WORD.fullmatch(text):
        return True
    is_address = _ADDRESS.fullmatch(text) is not None and not _IN_PATH.search(words)
    parts = text.partition("://")[2].split("/")[1:]
    return is_address and not any(map(_is_random, parts))


def _is_random(part: str) -> bool:
    """Return whether a part of a path mixes letters and digits, as identifiers and tokens do."""
    digits = sum(one.isdigit() for one in part)
    is_mixed = part.lower() != part and part.upper() != part and part[1:].lower() != part[1:]
    return digits > 3 or is_mixed  # noqa: PLR2004 - a version such as v2024 is one more
