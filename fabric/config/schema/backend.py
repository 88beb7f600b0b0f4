"""Which keys the state backend has, and which kind reads which."""

from fabric.config.schema.function import ENV_NAME
from fabric.config.schema.shapes import Field, Fields, OneOf, Text, whole
from fabric.config.schema.triggers import FILLED
from fabric.config.values import BackendKind

_KIND = OneOf(tuple(BackendKind), "a backend", "config/unknown-backend")
_TABLE = Text(whole("[A-Za-z_][A-Za-z0-9_]{0,62}"), "a table name")
_URL_ENV = "FABRIC_STATE_SQL_URL"

BACKEND = Fields(
    (
        Field("kind", _KIND, "Where state is kept; `local` when left out.", "local"),
        Field("sqlConnectionStringEnv", ENV_NAME, "sql: the variable with the URL.", _URL_ENV),
        Field("sqlTable", _TABLE, "sql: the table of the state.", "fabric_state"),
        Field("objstore1Bucket", FILLED, "objstore1: the bucket of the state.", "my-state"),
        Field("objstore1Prefix", Text(), "objstore1: what keys begin with.", "fabric/"),
        Field("lockTable", FILLED, "objstore1: the table that holds the locks.", "fabric-locks"),
        Field("objstore2Bucket", FILLED, "objstore2: the bucket of the state.", "my-state"),
        Field("objstore2Prefix", Text(), "objstore2: what names begin with.", "fabric/"),
        Field("objstore3Container", FILLED, "objstore3: the container of the state.", "my-state"),
        Field("objstore3Prefix", Text(), "objstore3: what names begin with.", "fabric/"),
    )
)
KEYS_OF: dict[BackendKind, tuple[str, ...]] = {
    BackendKind.LOCAL: (),
    BackendKind.SQL: ("sqlConnectionStringEnv", "sqlTable"),
    BackendKind.OBJSTORE1: ("objstore1Bucket", "objstore1Prefix", "lockTable"),
    BackendKind.OBJSTORE2: ("objstore2Bucket", "objstore2Prefix"),
    BackendKind.OBJSTORE3: ("objstore3Container", "objstore3Prefix"),
}
# Without these a backend cannot be reached; found at plan, not at load.
NEEDED_BY: dict[BackendKind, str] = {
    BackendKind.OBJSTORE1: "objstore1Bucket",
    BackendKind.OBJSTORE2: "objstore2Bucket",
    BackendKind.OBJSTORE3: "objstore3Container",
}
DEFAULTS: dict[BackendKind, dict[str, str]] = {
    BackendKind.SQL: {"sqlConnectionStringEnv": _URL_ENV, "sqlTable": "fabric_state"},
}
