"""The keys of the state backend. The backend table defines which kind reads which."""

from fabric.config.schema.function import ENV_NAME
from fabric.config.schema.shapes import Field, Fields, OneOf, Text, match_whole
from fabric.config.schema.triggers import FILLED
from fabric.model.backends import BackendKind, back_end_facts

_KIND = OneOf(tuple(BackendKind), "a backend", "config/unknown-backend")
_TABLE = Text(match_whole("[A-Za-z_][A-Za-z0-9_]{0,62}"), "a table name")
_SQL_DEFAULTS = dict(back_end_facts(BackendKind.SQL).defaults)

BACKEND = Fields(
    (
        Field("kind", _KIND, "Where state is stored. Default: `local`.", "local"),
        Field(
            "sqlConnectionStringEnv",
            ENV_NAME,
            "sql: environment variable that contains the database URL.",
            _SQL_DEFAULTS["sqlConnectionStringEnv"],
        ),
        Field("sqlTable", _TABLE, "sql: table of the state.", _SQL_DEFAULTS["sqlTable"]),
        Field("objstore1Bucket", FILLED, "objstore1: bucket of the state.", "my-state"),
        Field("objstore1Prefix", Text(), "objstore1: prefix of the object keys.", "fabric/"),
        Field("lockTable", FILLED, "objstore1: DynamoDB table of the locks.", "fabric-locks"),
        Field("objstore2Bucket", FILLED, "objstore2: bucket of the state.", "my-state"),
        Field("objstore2Prefix", Text(), "objstore2: prefix of the object names.", "fabric/"),
        Field("objstore3Container", FILLED, "objstore3: container of the state.", "my-state"),
        Field("objstore3Prefix", Text(), "objstore3: prefix of the blob names.", "fabric/"),
    )
)
