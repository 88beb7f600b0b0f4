"""Text for the results of deploys and removals."""

from collections.abc import Iterator, Sequence

from fabric.model.outcomes.deployed import (
    AdoptOutcome,
    DeployOutcome,
    FunctionEnd,
    OutputsOutcome,
    ReleasesOutcome,
    RemoveOutcome,
    RollbackOutcome,
    ServiceEnd,
    TaskCounts,
    VerifyOutcome,
)
from fabric.model.outcomes.generated import GenerateOutcome
from fabric.model.records.record import Origin
from fabric.model.text.amounts import format_count, format_duration
from fabric.model.text.natural_order import make_natural_key
from fabric.views.state_text import format_commit
from fabric.views.style import Style

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


def deploy_text(deployed: DeployOutcome, _style: Style) -> str:
    """Format the changes, the address of each service, and a summary line."""
    rows = deployed.deployments
    if not any((deployed.summary.ran, deployed.summary.failed, deployed.summary.blocked)):
        return "\n".join([*_list_addresses(rows), _format_last_line(rows, deployed.summary)])
    moved = [row for row in rows if row.status != "unchanged"]
    lines = [line for row in moved[:_SHOWN] for line in _format_service(row)]
    if len(moved) > _SHOWN:
        lines.append(f"and {format_count(len(moved) - _SHOWN, 'service')} more")
    return "\n".join([*lines, _format_last_line(rows, deployed.summary)])


def _list_addresses(rows: Sequence[ServiceEnd]) -> Iterator[str]:
    """List the addresses after a deploy that changed nothing."""
    found = [f"{row.service} on {row.provider}  {row.endpoint}" for row in rows if row.endpoint]
    yield from found[:_SHOWN]
    if len(found) > _SHOWN:
        yield f"and {format_count(len(found) - _SHOWN, 'service')} more: fabric compose outputs"


def _format_service(row: ServiceEnd) -> Iterator[str]:
    yield f"{row.service} on {row.provider} ({row.mode}): {row.status}"
    for one in sorted(_select_listed_functions(row), key=lambda one: make_natural_key(one.name)):
        if one.status != "unchanged":
            url = row.outputs.get(f"url_{one.name}", "")
            yield f"  {_SIGNS[one.status]} {one.name}  {url}".rstrip()
    if row.endpoint:
        yield f"  {row.endpoint}"


def _select_listed_functions(row: ServiceEnd) -> Sequence[FunctionEnd]:
    """List the functions to show individually; none for a completely rolled-back service."""
    return () if row.status == _BACK else row.functions


def _format_last_line(rows: Sequence[ServiceEnd], summary: TaskCounts) -> str:
    functions = [one.status for row in rows for one in _select_listed_functions(row)]
    words = ("created", "updated", "deleted", "unchanged", "failed", "blocked", "cancelled")
    counts = {word: functions.count(word) for word in words}
    if not summary.ran and not summary.failed and not summary.blocked:
        return f"Nothing to do: {format_count(len(functions), 'function')} up to date."
    said = [f"{count} {word}" for word, count in counts.items() if count]
    if [word for word, count in counts.items() if count] == ["unchanged"]:
        # Workflows, stacks or the API can have changed.
        same = f"{format_count(counts['unchanged'], 'function')} unchanged"
        said = [same, f"{format_count(summary.ran, 'task')} run"]
    back = sum(row.status == _BACK for row in rows)
    said += [f"{format_count(back, 'service')} rolled back"] * bool(back)
    is_good = all(row.status in ("deployed", "unchanged") for row in rows)
    end = "complete" if is_good and not any(counts[word] for word in words[4:]) else "failed"
    return f"Deploy {end}: {', '.join(said) or 'no functions'} ({format_duration(summary.ms)})."


def format_removal(done: RemoveOutcome, _style: Style) -> str:
    lines = [f"- {row.service} on {row.provider}: removed" for row in done.removed]
    lines += [
        f"- {row.service}/{row.function} on {row.provider}: removed" for row in done.functions
    ]
    lines += [f"  {row.service} on {row.provider}: not deployed" for row in done.absent]
    return "\n".join(lines)


def rollback_text(done: RollbackOutcome, _style: Style) -> str:
    count = format_count(len(done.functions), "function")
    place = f"{done.service} on {done.provider}"
    is_same = done.restored in ("", done.to)
    target = done.to if is_same else f"{done.restored} as {done.to}"
    return f"Rolled back {place} to {target} ({count}, previously {done.before})."


_SECTIONS = {
    "take": "Take over",
    "keep": "Leave unchanged",
    "create": "Create with the next deploy",
    "manual": "Do by hand",
}
_UNDONE = {**_SECTIONS, "take": "Return"}


def adopt_text(found: AdoptOutcome, style: Style) -> str:
    stacks = f", {', '.join(found.stacks)}" if found.stacks else ""
    lines = [style.strong(f"{found.service} on {found.provider}, stage {found.stage}{stacks}")]
    for action, title in (_UNDONE if found.release else _SECTIONS).items():
        rows = [one for one in found.parts if one.action == action]
        lines += ["", f"{title}:"] if rows else []
        lines += [f"  {one.kind} {one.name}  {style.dim(one.reason)}".rstrip() for one in rows]
    if found.steps:
        lines += ["", "Before you adopt:", *(f"  {line}" for line in found.steps)]
    return "\n".join([*lines, "", _format_adoption_end(found)])


def _format_adoption_end(found: AdoptOutcome) -> str:
    count = format_count(len(found.functions), "function")
    if not found.changed:
        return "Nothing was changed."
    return f"Released {count}." if found.release else f"Adopted {count}. Next: fabric plan"


def format_releases(found: ReleasesOutcome, _style: Style) -> str:
    if not found.releases:
        return "No deployments yet."
    lines = []
    for row in found.releases:
        mark = "*" if row.current else " "
        commit = format_commit(Origin(row.commit, row.branch))
        facts = (row.deployment_id, row.updated_at, row.endpoint, commit)
        lines.append(f"{mark} {'  '.join(one for one in facts if one)}")
    return "\n".join(lines)


def format_outputs(found: OutputsOutcome, _style: Style) -> str:
    lines = []
    for row in found.services:
        lines.append(f"{row.service} on {row.provider}  {row.endpoint}".rstrip())
        lines += [f"  {name}={value}" for name, value in row.outputs.items()]
    lines += [f"{row.service}: not deployed" for row in found.absent]
    return "\n".join(lines)


_DONE = {"create": "created", "update": "changed", "replace": "replaced"}


def generate_text(made: GenerateOutcome, style: Style) -> str:
    if made.dry_run:
        lines = (_diff_line(line, style) for line in made.diff.split("\n"))
        return "\n".join([*lines, style.dim("Dry run: nothing was written.")])
    width = max(len(_DONE[one.change]) for one in made.files)
    rows = [f"{_DONE[one.change]:<{width}}  {one.path}" for one in made.files]
    return "\n".join([*rows, style.dim(f"Next: {made.next_step}")])


def _diff_line(line: str, style: Style) -> str:
    if line.startswith(("--- ", "+++ ")):
        return style.strong(line)
    if line.startswith("@@"):
        return style.note(line)
    if line.startswith("+"):
        return style.good(line)
    return style.bad(line) if line.startswith("-") else line


def format_verified(found: VerifyOutcome, _style: Style) -> str:
    lines = [
        f"{one.verdict:<8}{one.service}/{one.function} ({one.provider})"
        + (f": {one.reason}" if one.reason else "")
        for one in found.functions
    ]
    return "\n".join(lines)
