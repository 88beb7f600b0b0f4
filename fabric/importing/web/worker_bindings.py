"""Bindings of Wrangler to those of fabric, which have the same names."""

from collections.abc import Collection

from fabric.config.schema.edge1_bindings import ASSETS, BINDINGS
from fabric.config.schema.shapes import Fields as KnownKeys
from fabric.config.schema.shapes import Many
from fabric.importing.context import Context
from fabric.importing.draft import Fields
from fabric.importing.rules import Rule, Rules
from fabric.importing.source import At

FUNCTION = "app"
# Keys of local runs of Wrangler.
_LOCAL = frozenset(
    (
        *("preview_id", "preview_bucket_name", "preview_database_id", "remote"),
        *("experimental_remote", "migrations_table", "localConnectionString"),
    )
)
_IDS = {"kv_namespaces": "id", "r2_buckets": "bucket_name", "d1_databases": "database_id"}
_CONSUMER_TO_TRIGGER = {
    "queue": "queue",
    "max_batch_size": "batchSize",
    "max_batch_timeout": "maximumBatchingWindowSeconds",
}


def _list_keys(*path: str) -> Collection[str]:
    """List the keys of a row of a section."""
    shape: object = BINDINGS
    for key in path:
        shape = shape.index[key] if isinstance(shape, KnownKeys) else shape
    row = shape.item if isinstance(shape, Many) else shape
    return row.index if isinstance(row, KnownKeys) else ()


def _convert_row(context: Context, at: At, known: Collection[str]) -> Fields:
    row = Fields(at)
    for one in at.list_entries():
        if one.key in known:
            context.put(one, row, one.key, context.read_plain(one))
        elif one.key in _LOCAL:
            context.ledger.drop(one, "used only by local runs of Wrangler")
        elif one.key == "migrations_dir":
            reason = "fabric applies no migrations of databases"
            context.ledger.lose(one, reason, "run `wrangler d1 migrations apply` before a deploy")
        else:
            context.ledger.lose(one, f"`{one.key}` of a binding is not supported")
    return row


def _put_section(context: Context, at: At, extension: Fields) -> None:
    target, known = extension.child("bindings", at), _list_keys(at.key)
    if not at.is_list:
        target.put(at.key, _convert_row(context, at, known), at)
        return
    for one in at.list_items():
        row = _convert_row(context, one, known)
        if at.key in _IDS and not row.has(_IDS[at.key]):
            row.put_flag("create", value=True)
            context.ledger.remark(one, "Wrangler and fabric create it at the first deploy")
        target.add(at.key, row, one)


def _put_objects(context: Context, at: At, extension: Fields) -> None:
    target = extension.child("bindings", at).child("durable_objects", at)
    for one in at.get("bindings").list_items():
        row = _convert_row(context, one, _list_keys("durable_objects", "bindings"))
        target.add("bindings", row, one)
        if not row.has("script_name"):
            target.put("function", FUNCTION)
            reason = "the classes are in a separate Worker, with new objects"
            context.ledger.remark(one, reason, "durable_objects.function")


def _put_unsafe(context: Context, at: At, extension: Fields) -> None:
    for one in at.list_entries():
        if one.key != "bindings":
            context.ledger.lose(one, f"`{one.key}` of {at.key} is not supported")
            continue
        for row in one.list_items():
            target = extension.child("bindings", at).child("unsafe", at)
            target.add("bindings", _convert_row(context, row, [x.key for x in row.list_entries()]))


def put_queues(function: Fields, context: Context, at: At, extension: Fields) -> None:
    target = extension.child("bindings", at).child("queues", at)
    for one in at.get("producers").list_items():
        row = _convert_row(context, one, _list_keys("queues", "producers"))
        target.add("producers", row, one)
    for one in at.get("consumers").list_items():
        if one.get("type").text not in ("", "worker"):
            context.ledger.lose(
                one, f"a consumer of type `{one.get('type').text}` is not a function"
            )
            continue
        function.add("triggers", _convert_trigger(context, one), one)
        context.ledger.carry(one.get("type"))
        rest = [x for x in one.list_entries() if x.key not in (*_CONSUMER_TO_TRIGGER, "type")]
        if rest:
            target.add("consumers", _convert_consumer(context, one, rest), one)


def _convert_trigger(context: Context, at: At) -> Fields:
    trigger = Fields(at)
    trigger.put("type", "queue")
    for key, ours in _CONSUMER_TO_TRIGGER.items():
        if not at.get(key).is_missing:
            context.put(at.get(key), trigger, ours, context.read_plain(at.get(key)))
    return trigger


def _convert_consumer(context: Context, at: At, rest: list[At]) -> Fields:
    row, known = Fields(at), _list_keys("queues", "consumers")
    row.put("queue", context.read_plain(at.get("queue")))
    for one in rest:
        if one.key in known:
            context.put(one, row, one.key, context.read_plain(one))
        else:
            context.ledger.lose(one, f"`{one.key}` of a consumer is not supported")
    return row


def _put_assets(context: Context, at: At, extension: Fields) -> None:
    known = [name for name in ASSETS.index if name != "function"]
    row = _convert_row(context, at, known)
    row.put("function", FUNCTION)
    extension.put("assets", row, at)


def put_variable(context: Context, at: At, extension: Fields) -> None:
    """Put a value that is not text."""
    variables = extension.child("bindings").child("vars", at)
    context.put(at, variables, at.key, context.read_plain(at))


_OWN_RULES = ("vars", "queues", "durable_objects", "unsafe")
_SECTIONS: dict[str, Rule] = {key: _put_section for key in BINDINGS.index if key not in _OWN_RULES}
BINDING_RULES: Rules = {
    **_SECTIONS,
    "durable_objects": _put_objects,
    "unsafe": _put_unsafe,
    "assets": _put_assets,
}
