"""Reports for build machines: JUnit XML of any run, and Markdown of plans and deploys."""

import re
from collections.abc import Iterable, Sequence
from html import escape

from msgspec.structs import replace

from fabric.model.outcomes.deployed import DeployOutcome, ServiceEnd
from fabric.model.outcomes.planned import PlanOutcome
from fabric.model.problems import Problem
from fabric.model.report import Case, Report
from fabric.model.secrets.secrecy import redact_credentials
from fabric.views.pictures.text import escape_mermaid
from fabric.views.report_text import report_text
from fabric.views.style import Style

# What XML 1.0 has no way to say, not even escaped.
_UNSAYABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_HEAD = '<?xml version="1.0" encoding="UTF-8"?>'
_ROWS = 200
_NODES = 60
_ERRORS = 20
_SPECIAL = re.compile(r"([\\`*_\[\]|~$@])")
_SIGNS = {"create": "+", "update": "~", "delete": "-", "none": ""}
_COLOURS = {
    "changed": "fill:#0b63b5,stroke:#0b63b5,color:#ffffff",
    "failed": "fill:#b42318,stroke:#b42318,color:#ffffff",
    "same": "fill:#ffffff,stroke:#b4bac4,color:#4b5563",
}
_BAD = ("failed", "blocked", "cancelled", "rolled-back")

Row = tuple[str, ...]
# A service with its mark in the picture.
Marked = tuple[str, str]


def format_junit(report: Report) -> str:
    name = f"fabric {report.command}"
    cases = (*report.cases, *_list_run_cases(name, report))
    suites: dict[str, list[Case]] = {}
    for case in cases:
        suites.setdefault(case.service, []).append(case)
    lines = [line for name in sorted(suites) for line in _format_suite(name, suites[name])]
    head = f"<testsuites {_format_name(name)} {_format_counts(cases)}>"
    return "\n".join([_HEAD, head, *lines, "</testsuites>\n"])


def _list_run_cases(name: str, report: Report) -> tuple[Case, ...]:
    """List failures outside tasks as separate cases, so that no failure looks like a success."""
    failed = (case for case in report.cases if case.status == "failed")
    told = {_remove_function_names(one) for case in failed for one in case.problems}
    rest = tuple(one for one in report.problems if _remove_function_names(one) not in told)
    return (Case("fabric", name, "failed", problems=rest),) if rest else ()


def _remove_function_names(problem: Problem) -> Problem:
    """Remove the function names of a shared problem, because a case is about one function."""
    return replace(problem, message=problem.message.partition(" (functions `")[0])


def _format_suite(name: str, cases: Sequence[Case]) -> Iterable[str]:
    yield f"  <testsuite {_format_name(name)} {_format_counts(cases)}>"
    for case in cases:
        yield from _format_case(case)
    yield "  </testsuite>"


def _format_case(case: Case) -> Iterable[str]:
    head = f'    <testcase {_format_name(case.task)} classname="{_escape_xml(case.service)}" '
    head += f'time="{case.ms / 1000:.3f}"'
    if case.status == "ran":
        yield f"{head}/>"
        return
    yield f"{head}>"
    if case.status == "failed":
        yield from (
            _format_failure(one)
            for one in case.problems or (Problem("run/failed", case.reason or "failed"),)
        )
    else:
        yield f'      <skipped message="{_escape_xml(_format_skipped(case))}"/>'
    yield "    </testcase>"


def _format_skipped(case: Case) -> str:
    return case.reason if case.status == "skipped" else f"{case.status}: {case.reason}"


def _format_failure(problem: Problem) -> str:
    place = f"{problem.where}: " if problem.where else ""
    parts = (f"{place}{problem.message}", problem.frame, problem.hint and f"hint: {problem.hint}")
    body = _escape_xml("\n".join(part for part in parts if part))
    head = f'type="{_escape_xml(problem.code)}" message="{_escape_xml(problem.message)}"'
    return f"      <failure {head}>{body}</failure>"


def _format_name(name: str) -> str:
    return f'name="{_escape_xml(name)}"'


def _format_counts(cases: Sequence[Case]) -> str:
    failed = sum(case.status == "failed" for case in cases)
    skipped = sum(case.status not in ("ran", "failed") for case in cases)
    seconds = sum(case.ms for case in cases) / 1000
    return (
        f'tests="{len(cases)}" failures="{failed}" errors="0" skipped="{skipped}" '
        f'time="{seconds:.3f}"'
    )


def _escape_xml(text: str) -> str:
    """Escape for XML, including line breaks, and redact credentials."""
    plain = _UNSAYABLE.sub("\ufffd", redact_credentials(text))
    return escape(plain).replace("\n", "&#10;").replace("\r", "&#13;").replace("\t", "&#9;")


def format_job_summary(report: Report) -> str:
    """Format the notable results of a plan or deploy, or the reason of an early failure."""
    match report.outcome:
        case PlanOutcome():
            return _format_page(report, _plan_parts(report, report.outcome), report.outcome.stage)
        case DeployOutcome():
            return _format_page(report, _deploy_parts(report, report.outcome), report.outcome.stage)
        case _:
            return _format_page(report, (_format_last_line(report),))


def _plan_parts(report: Report, plan: PlanOutcome) -> Sequence[str]:
    """Format the planned changes by service and function, with dependencies; or that nothing
    changes."""
    busy = {one.service for one in plan.tasks if one.action != "skip"}
    functions = [function for one in plan.services for function in one.functions]
    if not busy and all(one.change == "none" for one in functions):
        return (_format_last_line(report),)
    rows = [
        (one.service, one.provider, function.name, _change(function.change))
        for one in plan.services
        for function in one.functions
    ]
    marked = [(one.service, "changed" if one.service in busy else "same") for one in plan.services]
    table = _format_table(("Service", "Provider", "Function", "Change"), rows)
    return (_format_last_line(report), table, _draw_services(marked, report.ties))


def _deploy_parts(report: Report, deployed: DeployOutcome) -> Sequence[str]:
    """Format the deployed services and functions with status and dependencies."""
    services = deployed.deployments
    if all(one.status == "unchanged" for one in services):
        return (_format_last_line(report),)
    rows = [row for one in services for row in _list_deployed_rows(one)]
    marked = [(one.service, _mark(one.status)) for one in services]
    table = _format_table(("Service", "Provider", "Function", "Status", "Endpoint"), rows)
    return (_format_last_line(report), table, _draw_services(marked, report.ties))


def _list_deployed_rows(service: ServiceEnd) -> Iterable[Row]:
    head = (service.service, service.provider)
    functions = [(one.name, one.status) for one in service.functions] or [("", service.status)]
    for name, status in functions:
        url = service.outputs.get(f"url_{name}", service.endpoint)
        yield (*head, name, status, url)


def _mark(status: str) -> str:
    if status in _BAD:
        return "failed"
    return "changed" if status == "deployed" else "same"


def _change(change: str) -> str:
    return f"{_SIGNS[change]} {change}".strip() if change != "none" else "no change"


def _format_last_line(report: Report) -> str:
    """The line that sums up."""
    return _escape_cell(report_text(report, Style()).rstrip().rpartition("\n")[2])


def _format_page(report: Report, parts: Iterable[str], stage: str = "") -> str:
    head = f"### fabric {_escape_cell(report.command)}" + (
        f" ({_escape_cell(stage)})" if stage else ""
    )
    return "\n\n".join(part for part in (head, *parts, _format_errors(report)) if part) + "\n\n"


def _format_errors(report: Report) -> str:
    lines = [_format_error(one) for one in report.problems[:_ERRORS]]
    more = len(report.problems) - _ERRORS
    return "\n".join([*lines, f"- and {more} more"] if more > 0 else lines)


def _format_error(problem: Problem) -> str:
    place = f"{problem.where}: " if problem.where else ""
    return f"- **{_escape_cell(problem.code)}** {_escape_cell(f'{place}{problem.message}')}"


def _format_table(heads: Row, rows: Sequence[Row]) -> str:
    if not rows:
        return ""
    lines = [
        _format_row(heads),
        _format_row(("---",) * len(heads), plain=True),
        *map(_format_row, rows[:_ROWS]),
    ]
    more = len(rows) - _ROWS
    return "\n".join(lines) + (f"\n\nand {more} more functions" if more > 0 else "")


def _format_row(cells: Row, *, plain: bool = False) -> str:
    return f"| {' | '.join(cells if plain else map(_escape_cell, cells))} |"


def _escape_cell(text: str) -> str:
    """Text that Markdown, a table and HTML leave as it is, on one line."""
    safe = redact_credentials(" ".join(text.split()))
    safe = "".join(sign if sign.isprintable() else f"\\x{ord(sign):02x}" for sign in safe)
    safe = safe.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _SPECIAL.sub(r"\\\1", safe)


def _draw_services(services: Sequence[Marked], ties: Iterable[tuple[str, str]]) -> str:
    """Draw the services. If there are too many, only the first are drawn and the others counted."""
    shown = {name: f"s{number}" for number, (name, _) in enumerate(services[:_NODES])}
    if not shown:
        return ""
    lines = ["```mermaid", "flowchart LR"]
    for name, mark in services[:_NODES]:
        lines.append(f'  {shown[name]}["{escape_mermaid(name)}"]:::{mark}')
    lines += [f"  {shown[a]} --> {shown[b]}" for a, b in ties if a in shown and b in shown]
    if len(services) > _NODES:
        lines.append(f'  more["and {len(services) - _NODES} more"]:::same')
    lines += [f"  classDef {mark} {paint}" for mark, paint in _COLOURS.items()]
    return "\n".join([*lines, "```"])
