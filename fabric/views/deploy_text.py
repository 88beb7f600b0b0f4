"""What a deploy or a removal did, for people."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fabric.model.amounts import duration, plural

_SIGNS = {
    "created": "+",
    "updated": "~",
    "deleted": "-",
    "unchanged": " ",
    "failed": "✗",
    "blocked": "!",
    "cancelled": "!",
}
_SHOWN = 40
_BACK = "rolled-back"


def deploy_text(document: Mapping[str, Any]) -> str:
    """What moved, where each service answers now, and one line to sum up."""
    rows = document["deployments"]
    moved = [row for row in rows if row["status"] != "unchanged"]
    lines = [line for row in moved[:_SHOWN] for line in _service(row)]
    if len(moved) > _SHOWN:
        lines.append(f"and {plural(len(moved) - _SHOWN, 'service')} more")
    return "\n".join([*lines, _last_line(rows, document["summary"])])


def _service(row: Mapping[str, Any]) -> Iterator[str]:
    yield f"{row['service']} on {row['provider']} ({row['mode']}): {row['status']}"
    for one in _moved(row):
        if one["status"] != "unchanged":
            url = row["outputs"].get(f"url_{one['name']}", "")
            yield f"  {_SIGNS[one['status']]} {one['name']}  {url}".rstrip()
    if row["endpoint"]:
        yield f"  {row['endpoint']}"


def _moved(row: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """The functions that are told one by one: none of a service that went back as a whole."""
    functions: Sequence[Mapping[str, Any]] = row["functions"]
    return () if row["status"] == _BACK else functions


def _last_line(rows: Sequence[Mapping[str, Any]], summary: Mapping[str, int]) -> str:
    functions = [one["status"] for row in rows for one in _moved(row)]
    words = ("created", "updated", "deleted", "unchanged", "failed", "blocked", "cancelled")
    counts = {word: functions.count(word) for word in words}
    if not summary["ran"] and not summary["failed"] and not summary["blocked"]:
        return f"Nothing to do: {plural(len(functions), 'function')} up to date."
    said = [f"{count} {word}" for word, count in counts.items() if count]
    back = sum(row["status"] == _BACK for row in rows)
    said += [f"{plural(back, 'service')} taken back"] * bool(back)
    return f"Deploy: {', '.join(said) or 'no function'} ({duration(summary['ms'])})."


def removal_text(document: Mapping[str, Any]) -> str:
    lines = [f"- {row['service']} on {row['provider']}: removed" for row in document["removed"]]
    lines += [
        f"  {row['service']} on {row['provider']}: nothing was there" for row in document["absent"]
    ]
    return "\n".join(lines)


def rollback_text(document: Mapping[str, Any]) -> str:
    count = plural(len(document["functions"]), "function")
    return (
        f"{document['service']} on {document['provider']} is back at {document['to']} "
        f"({count}; it was {document['from']})."
    )


def releases_text(document: Mapping[str, Any]) -> str:
    rows = document["releases"]
    if not rows:
        return "Nothing was deployed yet."
    lines = []
    for row in rows:
        mark = "*" if row["current"] else " "
        lines.append(
            f"{mark} {row['deploymentId']}  {row['updatedAt']}  {row['endpoint']}".rstrip()
        )
    return "\n".join(lines)


def outputs_text(document: Mapping[str, Any]) -> str:
    lines = []
    for row in document["services"]:
        lines.append(f"{row['service']} on {row['provider']}  {row['endpoint']}".rstrip())
        lines += [f"  {name}={value}" for name, value in row["outputs"].items()]
    lines += [f"{row['service']}: not deployed" for row in document["absent"]]
    return "\n".join(lines)
