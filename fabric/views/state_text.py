"""What is recorded of deployments, for people."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fabric.model.amounts import plural

Row = Mapping[str, Any]
_HISTORY = 5


def table(rows: Sequence[Sequence[str]]) -> str:
    """Columns as wide as their widest cell; the last one may be as long as it likes."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = (
        "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )
    return "\n".join(lines)


def list_text(document: Row, place: str) -> str:
    rows = document["records"]
    if not rows:
        return f"There is no state of {document['service']} in {place}."
    head = ("STAGE", "PROVIDER", "MODE", "LIFECYCLE", "SERIAL", "FUNCTIONS", "UPDATED", "")
    cells = [
        (
            row["stage"],
            row["provider"],
            row["mode"],
            row["lifecycle"],
            str(row["serial"]),
            str(len(row["functions"])),
            row["updatedAt"],
            "locked" if row["locked"] else "",
        )
        for row in rows
    ]
    return table([head, *cells])


def show_text(document: Row, place: str) -> str:
    return "\n".join(_shown(document, place))


def _shown(document: Row, place: str) -> Iterator[str]:
    yield f"{document['service']} ({document['stage']}, {document['provider']})"
    yield f"  {document['lifecycle']}, {document['mode']}, serial {document['serial']}"
    yield f"  kept in {place}"
    yield f"  {document['deploymentId'] or 'never deployed'}  {document['updatedAt']}"
    if document["endpoint"]:
        yield f"  {document['endpoint']}"
    yield from _functions(document["functions"])
    yield from _section("Outputs", [f"{key} = {value}" for key, value in _outputs(document)])
    yield from _section("Unfinished", [one["task"] for one in document["pending"]])
    yield from _section("History", [_release(one) for one in document["history"][:_HISTORY]])
    yield from _alarms(document)


def _functions(functions: Sequence[Row]) -> Iterator[str]:
    lines = [
        f"{one['name']}  {one['resourceId']}  {one['artifactSha256'][:12]}"
        + ("" if one["key"] else "  unknown")
        for one in functions
    ]
    return _section("Functions", lines)


def _outputs(document: Row) -> list[tuple[str, str]]:
    return sorted(document["outputs"].items())


def _release(one: Row) -> str:
    return f"{one['deploymentId']}  {one['updatedAt']}  {one['mode']}"


def _section(title: str, lines: Sequence[str]) -> Iterator[str]:
    if lines:
        yield f"{title}:"
        yield from (f"  {line}" for line in lines)


def _alarms(document: Row) -> Iterator[str]:
    lock = document["lock"]
    if lock:
        yield f"Locked by {lock['who']} (pid {lock['pid']}) for `{lock['operation']}`."
    if document["errored"]:
        yield "A later state waits to be written: fabric state push"


def records_text(rows: Sequence[Row], done: str) -> str:
    lines = [f"  {row['stage']}  {row['provider']}  serial {row['serial']}" for row in rows]
    return "\n".join([*lines, f"{plural(len(rows), 'record')} {done}."])


def migrate_text(document: Row) -> str:
    rows, target = document["records"], document["to"]
    if not rows:
        return f"There is nothing in {document['from']} to copy."
    archives = plural(document["archives"], "archive")
    done = f"and {archives} copied from {document['from']} to {target}, read back and equal"
    return f"{records_text(rows, done)}\nSet `backend.kind: {target}` to use them from there."


def reconcile_text(document: Row) -> str:
    entries = document["entries"]
    if not entries:
        return "Nothing was deployed, as far as config, state and receipts tell."
    cells = [(one["status"], one["service"], one["provider"], one["detail"]) for one in entries]
    fixed = document.get("fixed")
    return table(cells) + (f"\n{plural(len(fixed), 'receipt')} made anew." if fixed else "")
