"""Entries that no build can make work, detected from their text: a plan rejects them with the
reason."""

import re
from collections.abc import Iterator

from fabric.model.problems import FabricError, Place, Problem
from fabric.model.task_inputs import BuildInputs
from fabric.runtimes.entry import NODE_EXTENSIONS, EntryFile, unreadable_file_error
from fabric.runtimes.nodejs.formats import build_wanted_export
from fabric.runtimes.recorded_inputs import place
from fabric.system.files.disk import read_bytes

WORKERS_ONLY = "cloudflare:"
_COMMENTS = re.compile(r"^\s*(?://|\*(?!/)).*$|/\*.*?\*/", re.MULTILINE | re.DOTALL)
# The packages whose calls register a function with the host, and those calls.
_REGISTER = {
    "@azure/functions": re.compile(
        r"\bapp\.(?:http|get|put|post|patch|deleteRequest|timer|storageBlob|storageQueue|"
        r"serviceBusQueue|serviceBusTopic|eventHub|eventGrid|cosmosDB|sql|mySql|warmup|webPubSub|"
        r"generic)\s*\("
    ),
    "@google-cloud/functions-framework": re.compile(r"\b(?:http|cloudEvent|typed)\s*\(\s*[\"'`]"),
}
_IMPORT = re.compile(
    r"\bimport\s+(?!type\b)(?P<names>[^\"'`;()]*?)\s*\bfrom\s*[\"'](?P<named>cloudflare:[^\"']+)[\"']"
    r"|\b(?:import\s*|import\s*\(\s*|require\s*\(\s*)[\"'](?P<bare>cloudflare:[^\"']+)[\"']"
)
_LOCAL_NAME = re.compile(r"(?:\bas\s+)?([\w$]+)\s*(?:,|\}|$)")


def refuse_unfit(entry: EntryFile, inputs: BuildInputs) -> None:
    """Raise for an entry that only another host could run."""
    if not entry.path.endswith(NODE_EXTENSIONS):
        return
    text = _COMMENTS.sub("", _read_entry_text(entry))
    problem = _find_workers_problem(entry, inputs, text) or _find_registration_problem(
        entry, inputs, text
    )
    if problem is not None:
        raise FabricError(problem)


def format_workers_hint(specifier: str) -> str:
    return (
        "deploy this function to Cloudflare Workers (`edge1-workers`), the only runtime with "
        f"`{specifier}`, or remove the import (use `import type` for types)"
    )


def _find_workers_problem(entry: EntryFile, inputs: BuildInputs, text: str) -> Problem | None:
    known = (*inputs.provided, *inputs.external)
    if WORKERS_ONLY not in text or any(one.startswith((WORKERS_ONLY, "*")) for one in known):
        return None
    found = next(_find_kept_imports(text), "")
    if not found:
        return None
    shown = place(entry.workspace, entry.path)
    message = f"`{shown}` imports `{found}`, which the provider's runtime does not contain"
    return Problem(
        "build/workers-only", message, hint=format_workers_hint(found), where=Place(shown)
    )


def _find_kept_imports(text: str) -> Iterator[str]:
    """Yield imports that stay in a bundle: names used only as types are dropped."""
    for match in _IMPORT.finditer(text):
        if match["bare"]:
            yield match["bare"]
            continue
        locals_ = _LOCAL_NAME.findall(match["names"].replace("}", "").replace("{", ""))
        used = "|".join(map(re.escape, locals_))
        if used and re.search(
            rf"\b(?:new|extends|await|return)\s+(?:{used})\b|\b(?:{used})\s*[(.]", text
        ):
            yield match["named"]


def _find_registration_problem(entry: EntryFile, inputs: BuildInputs, text: str) -> Problem | None:
    """Find a function that registers itself: it has no export that a provider could call."""
    package = next((name for name, calls in _REGISTER.items() if _is_used(name, calls, text)), "")
    if not package or _has_possible_export(build_wanted_export(entry, inputs).names, text):
        return None
    shown = place(entry.workspace, entry.path)
    return Problem(
        "build/self-registered",
        f"`{shown}` registers its function with `{package}`, but fabric calls an export",
        hint="export the function as `handler`, and move its trigger from the call to fabric.yml",
        where=Place(shown),
    )


def _is_used(package: str, calls: re.Pattern[str], text: str) -> bool:
    return package in text and calls.search(text) is not None


def _has_possible_export(names: frozenset[str], text: str) -> bool:
    """Return whether a text can export one of the names."""
    if re.search(r"\bexport\s*\*|\bmodule\.exports\b", text):
        return True
    named = "|".join(re.escape(name) for name in sorted(names))
    listed = re.search(rf"\bexport\s*\{{[^}}]*\b(?:{named})\b", text)
    declared = re.search(
        rf"\bexport\s+(?:async\s+)?(?:(?:function|const|let|var|class)\s*\*?\s*)?(?:{named})\b"
        rf"|\bexports\.(?:{named})\b",
        text,
    )
    return bool(listed or declared)


def _read_entry_text(entry: EntryFile) -> str:
    try:
        return read_bytes(entry.path).decode("utf-8", "replace")
    except OSError as error:
        raise unreadable_file_error(
            place(entry.workspace, entry.path), str(error.strerror)
        ) from error
