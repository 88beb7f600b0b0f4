"""The bindings of a Worker: those of `wrangler deploy --dry-run`, and those of the config."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from fabric.importing.row_values import Row

_ROW = re.compile(
    r"^env\.(?P<name>[A-Za-z_$][\w$]*)(?: \((?P<resource>.*?)\))? {2,}\S", re.MULTILINE
)
_COLOR = re.compile(r"\x1b\[[0-9;]*m")
# The jurisdiction of a bucket, and the script of a Durable Object.
_DETAIL = re.compile(r" \([\w-]+\)$|, defined in .*$")
# Keys of lists with the keys of the name and of the resource that Wrangler prints.
_LISTS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "kv_namespaces": ("binding", ("id",)),
    "r2_buckets": ("binding", ("bucket_name",)),
    "d1_databases": ("binding", ("database_name", "database_id")),
}
_NAMES = ("binding", "name")


def list_wrangler_rows(output: str, own: set[Row]) -> set[Row]:
    """List the rows of a dry run. A resource counts if fabric's row of that name has one."""
    function = next(iter({one.function for one in own}), "")
    known = {one.value.partition(" ")[0]: one.value for one in own}
    found: set[Row] = set()
    for one in _ROW.finditer(_COLOR.sub("", output)):
        name, resource = one["name"], _DETAIL.sub("", one["resource"] or "")
        has_resource = " " in known.get(name, f"{name} {resource}")
        found.add(Row(function, "binding", f"{name} {resource}" if has_resource else name))
    return found


def list_binding_rows(config: Any, secrets: Collection[str] = ()) -> set[Row]:
    """List the bindings of a config, without secrets, which Wrangler does not list."""
    extension = (config.get("extensions") or {}).get("edge1-workers") or {}
    names = [str(one.get("name")) for one in config.get("functions") or ()]
    values = {*_list_bindings(extension.get("bindings") or {})}
    for one in (config, *(config.get("functions") or ())):
        values |= {*(one.get("env") or {})} - {*secrets}
    if extension.get("assets") and (binding := extension["assets"].get("binding")):
        values.add(str(binding))
    return {Row(names[0] if names else "", "binding", value) for value in values}


def _list_bindings(bindings: Mapping[str, Any]) -> Iterator[str]:
    for key, value in bindings.items():
        if key == "queues":
            producers = value.get("producers") or ()
            yield from (f"{one['binding']} {one['queue']}" for one in producers)
        elif key == "durable_objects":
            yield from (f"{one['name']} {one['class_name']}" for one in value.get("bindings") or ())
        elif key == "vars":
            yield from map(str, value)
        elif key in _LISTS:
            name, resources = _LISTS[key]
            yield from (_format(one, name, resources) for one in value)
        elif isinstance(value, list):
            yield from (_read_name(one) for one in value if _read_name(one))
        elif isinstance(value, Mapping) and _read_name(value):
            yield _read_name(value)


def _format(one: Mapping[str, Any], name: str, resources: Sequence[str]) -> str:
    resource = next((str(one[key]) for key in resources if one.get(key)), "")
    return f"{one[name]} {resource}" if resource else str(one[name])


def _read_name(one: Any) -> str:
    names = (one.get(key) for key in _NAMES) if isinstance(one, Mapping) else ()
    return str(next(filter(None, names), ""))
