"""The keys of the bindings of Workers, with the names and the nesting that Wrangler uses."""

from fabric.config.schema.shapes import (
    Anything,
    Either,
    Field,
    Fields,
    Flag,
    Integer,
    Many,
    OneOf,
    Shape,
    Table,
    Text,
    match_whole,
)
from fabric.config.schema.triggers import FILLED
from fabric.model.outcomes.json_struct import Json

_NAME = Text(
    match_whole("[A-Za-z_$][A-Za-z0-9_$]*"), "a name in JavaScript: letters, digits, `_` and `$`"
)
_ID = Text(match_whole("[0-9A-Za-z-]{1,64}"), "an id of letters, digits and hyphens")
_BUCKET = Text(
    match_whole("[a-z0-9][a-z0-9-]{1,61}[a-z0-9]"),
    "3 to 63 lowercase letters, digits and hyphens",
)
_QUEUE = Text(
    match_whole("[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"),
    "1 to 63 lowercase letters, digits and hyphens",
)
_BINDING = Field("binding", _NAME, "Name in the `env` of the Worker.", "CACHE", required=True)
_NAMED = Field("name", _NAME, "Name in the `env` of the Worker.", "LIMIT", required=True)
_FUNCTIONS = Field(
    "functions", Many(FILLED, least=1), "Functions that get the binding. Default: all.", ["api"]
)
_CREATE = Field(
    "create",
    Flag(),
    "Whether fabric creates it if none has this name. Default: false.",
    example=True,
)
_ON_REMOVE = Field(
    "onRemove",
    OneOf(("keep", "delete"), "a removal policy"),
    "Whether `fabric remove` deletes it with its data. Default: keep.",
    "keep",
)


def _text(name: str, doc: str, example: str, *, required: bool = False) -> Field:
    return Field(name, FILLED, doc, example, required=required)


def _list(name: str, doc: str, example: Json, *fields: Field, name_key: Field = _BINDING) -> Field:
    return Field(name, Many(Fields((name_key, *fields, _FUNCTIONS))), doc, [example])


def _one(name: str, doc: str) -> Field:
    return Field(name, Fields((_BINDING, _FUNCTIONS)), doc, {"binding": name.upper()})


_SIMPLE = Fields(
    (
        Field("limit", Integer(1), "Requests in a period.", 100, required=True),
        Field("period", Integer(10, 60), "Seconds: 10 or 60.", 60, required=True),
    )
)
_PRODUCER = Fields(
    (
        _BINDING,
        Field("queue", _QUEUE, "Name of the queue.", "jobs", required=True),
        Field("delivery_delay", Integer(0, 86_400), "Delay of each message, in seconds.", 5),
        _CREATE,
        _ON_REMOVE,
        _FUNCTIONS,
    )
)
_CONSUMER = Fields(
    (
        Field(
            "queue",
            _QUEUE,
            "Name of the queue. A function reads it with a queue trigger.",
            "jobs",
            required=True,
        ),
        Field("max_retries", Integer(0, 100), "Retries of a message. Default: 3.", 3),
        Field("dead_letter_queue", _QUEUE, "Queue for messages that failed.", "jobs-dead"),
        Field("max_concurrency", Integer(1, 250), "Maximum number of concurrent calls.", 5),
        Field("retry_delay", Integer(0, 86_400), "Delay before a retry, in seconds.", 30),
        _CREATE,
        _ON_REMOVE,
    )
)
_OBJECT = Fields(
    (
        _NAMED,
        _text("class_name", "Exported class of the objects.", "Room", required=True),
        _text("script_name", "Worker of another service that has the class.", "rooms-prod-objects"),
        _FUNCTIONS,
    )
)
_OBJECTS = Fields(
    (
        _text("function", "Function whose module exports the classes.", "rooms"),
        Field(
            "bindings",
            Many(_OBJECT),
            "Classes by binding.",
            [{"name": "ROOMS", "class_name": "Room"}],
            required=True,
        ),
        _ON_REMOVE,
    )
)
_CLASSES: Shape = Many(FILLED, least=1)
_MIGRATION = Fields(
    (
        _text("tag", "Name of the migration, applied once.", "v1", required=True),
        Field("new_sqlite_classes", _CLASSES, "New classes that store data in SQLite.", ["Room"]),
        Field("new_classes", _CLASSES, "New classes with key-value storage.", ["Room"]),
        Field(
            "renamed_classes",
            Many(
                Fields(
                    (
                        _text("from", "Old name.", "Room", required=True),
                        _text("to", "New name.", "Lobby", required=True),
                    )
                )
            ),
            "Classes with another name, which keep their objects.",
            [{"from": "Room", "to": "Lobby"}],
        ),
        Field("deleted_classes", _CLASSES, "Classes to delete with all their data.", ["Room"]),
        Field(
            "transferred_classes",
            Many(
                Fields(
                    (
                        _text("from", "Name in the other Worker.", "Room", required=True),
                        _text("from_script", "Other Worker.", "old-rooms", required=True),
                        _text("to", "Name in this service.", "Room", required=True),
                    )
                )
            ),
            "Classes of another Worker to take over with their data.",
            [{"from": "Room", "from_script": "old-rooms", "to": "Room"}],
        ),
    )
)
DIRECTORY = Text(
    match_whole(r"(?:\.\./)*(?:\./)?[^./\\][^\\]*"), "a directory of the project, such as `public`"
)
ASSETS = Fields(
    (
        Field("directory", DIRECTORY, "Directory of the files.", "public", required=True),
        _text("function", "Function of the files. Default: the only function.", "app"),
        Field("binding", _NAME, "Name of the files in the `env` of the function.", "ASSETS"),
        Field(
            "html_handling",
            OneOf(
                ("auto-trailing-slash", "force-trailing-slash", "drop-trailing-slash", "none"),
                "a handling of HTML",
            ),
            "Addresses of HTML files. Default: auto-trailing-slash.",
            "none",
        ),
        Field(
            "not_found_handling",
            OneOf(("none", "404-page", "single-page-application"), "a handling of missing files"),
            "Response if no file matches. Default: none, which calls the function.",
            "single-page-application",
        ),
        Field(
            "run_worker_first",
            Either((Flag(), Many(FILLED, least=1))),
            "Whether the function is called before the files: always, or for these paths.",
            ["/api/*"],
        ),
    )
)
BINDINGS = Fields(
    (
        Field(
            "vars",
            Table(Anything(), key=_NAME, sample="FEATURES"),
            "Values by name: text or JSON.",
            {"FEATURES": {"beta": True}},
        ),
        _list(
            "kv_namespaces",
            "KV namespaces: an `id`, or `create: true`.",
            {"binding": "CACHE", "create": True},
            Field("id", _ID, "Id of the namespace.", "0f2ac74b498b48028cb68387c421e279"),
            *(_CREATE, _ON_REMOVE),
        ),
        _list(
            "r2_buckets",
            "R2 buckets. With `create: true` the name has a default.",
            {"binding": "FILES", "bucket_name": "shop-files"},
            Field("bucket_name", _BUCKET, "Name of the bucket.", "shop-files"),
            Field(
                "jurisdiction",
                OneOf(("eu", "us", "fedramp", "fedramp-high"), "a jurisdiction"),
                "Jurisdiction of the bucket.",
                "eu",
            ),
            *(_CREATE, _ON_REMOVE),
        ),
        _list(
            "d1_databases",
            "D1 databases: a `database_id`, or `create: true`.",
            {"binding": "DB", "create": True},
            Field(
                "database_id", _ID, "Id of the database.", "7a9a5b2e-7a44-4b2c-8f5f-0c2f4a9c9d11"
            ),
            _text("database_name", "Name of the database.", "shop"),
            *(_CREATE, _ON_REMOVE),
        ),
        Field(
            "queues",
            Fields(
                (
                    Field(
                        "producers",
                        Many(_PRODUCER),
                        "Queues to send to.",
                        [{"binding": "JOBS", "queue": "jobs"}],
                    ),
                    Field(
                        "consumers",
                        Many(_CONSUMER),
                        "Settings of the queues of queue triggers.",
                        [{"queue": "jobs", "dead_letter_queue": "jobs-dead"}],
                    ),
                )
            ),
            "Queues.",
            {"producers": [{"binding": "JOBS", "queue": "jobs"}]},
        ),
        _list(
            "services",
            "Workers to call: a `service`, or a `function` of this service.",
            {"binding": "AUTH", "service": "auth-prod"},
            _text("service", "Name of the Worker.", "auth-prod"),
            _text("function", "Function of this service.", "prices"),
            _text("entrypoint", "Class that the Worker exports.", "Api"),
            _text("environment", "Environment of the Worker.", "production"),
        ),
        Field("durable_objects", _OBJECTS, "Durable Objects.", {"bindings": []}),
        Field(
            "migrations",
            Many(_MIGRATION),
            "Migrations of the classes of Durable Objects, in order.",
            [{"tag": "v1", "new_sqlite_classes": ["Room"]}],
        ),
        _list(
            "ratelimits",
            "Rate limits.",
            {"name": "LIMIT", "namespace_id": "1001", "simple": {"limit": 100, "period": 60}},
            Field(
                "namespace_id",
                Text(match_whole("[0-9]{1,18}"), "a number"),
                "Number of the counter, unique in the account.",
                "1001",
                required=True,
            ),
            Field("simple", _SIMPLE, "The limit.", {"limit": 100, "period": 60}, required=True),
            name_key=_NAMED,
        ),
        _list(
            "analytics_engine_datasets",
            "Datasets of Analytics Engine.",
            {"binding": "EVENTS", "dataset": "shop"},
            _text("dataset", "Name of the dataset. Default: the binding.", "shop"),
        ),
        _list(
            "vectorize",
            "Vectorize indexes.",
            {"binding": "INDEX", "index_name": "shop"},
            _text("index_name", "Name of the index.", "shop", required=True),
        ),
        _list(
            "hyperdrive",
            "Hyperdrive configurations.",
            {"binding": "PG", "id": "57b7076f58be42419276f058a8968187"},
            Field("id", _ID, "Id of the configuration.", "57b7076f58be42419276f058a8968187", True),  # noqa: FBT003
        ),
        _list(
            "workflows",
            "Workflows of other Workers.",
            {"binding": "ORDERS", "name": "orders", "script_name": "orders-prod"},
            _text("name", "Name of the workflow.", "orders", required=True),
            _text("class_name", "Class of the workflow.", "Orders"),
            _text("script_name", "Worker that has the class.", "orders-prod", required=True),
        ),
        _list(
            "mtls_certificates",
            "Client certificates.",
            {"binding": "CERT", "certificate_id": "57b7076f-58be-4241-9276-f058a8968187"},
            Field("certificate_id", _ID, "Id of the certificate.", "57b7076f", True),  # noqa: FBT003
        ),
        _list(
            "dispatch_namespaces",
            "Namespaces of Workers for Platforms.",
            {"binding": "TENANTS", "namespace": "tenants"},
            _text("namespace", "Name of the namespace.", "tenants", required=True),
        ),
        _list(
            "pipelines",
            "Pipelines.",
            {"binding": "STREAM", "pipeline": "clicks"},
            _text("pipeline", "Name of the pipeline.", "clicks", required=True),
        ),
        _list(
            "secrets_store_secrets",
            "Secrets of a Secrets Store.",
            {"binding": "KEY", "store_id": "8f4c", "secret_name": "key"},
            Field("store_id", _ID, "Id of the store.", "8f4c", required=True),
            _text("secret_name", "Name of the secret.", "key", required=True),
        ),
        _list(
            "send_email",
            "Addresses to send mail to.",
            {"name": "MAIL", "destination_address": "shop@example.com"},
            _text("destination_address", "The only recipient.", "shop@example.com"),
            Field(
                "allowed_destination_addresses",
                Many(FILLED, least=1),
                "Possible recipients.",
                ["shop@example.com"],
            ),
            name_key=_NAMED,
        ),
        _one("ai", "Workers AI."),
        _one("browser", "Browser Rendering."),
        _one("images", "Cloudflare Images."),
        _one("version_metadata", "Id and tag of the version."),
        Field(
            "unsafe",
            Fields(
                (
                    Field(
                        "bindings",
                        Many(
                            Fields(
                                (_NAMED, _text("type", "Type in the API.", "media", required=True)),
                                is_open=True,
                            )
                        ),
                        "Bindings that are sent to the API as they are.",
                        [{"name": "MEDIA", "type": "media"}],
                    ),
                )
            ),
            "Bindings of other types.",
            {"bindings": [{"name": "MEDIA", "type": "media"}]},
        ),
    )
)
