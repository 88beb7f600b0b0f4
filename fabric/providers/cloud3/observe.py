"""Observe functions on Azure: Kusto queries in a Log Analytics workspace."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Optional, TypeAlias
from urllib.parse import quote

from msgspec import Struct, convert
from msgspec.structs import replace

from fabric.model.observed import (
    SECOND,
    FunctionNumbers,
    LogLine,
    TimeWindow,
    TracedCall,
    TracedStep,
    find_level,
    format_moment,
    parse_nanoseconds,
)
from fabric.model.outcomes.json_struct import Json
from fabric.model.problems import Problem
from fabric.model.secrets.secret import Secret
from fabric.providers.core.contract import NO_CONTEXT, CallContext
from fabric.providers.core.errors import (
    Quoted,
    RefusedCallError,
    convert_call_errors,
    format_generic_hint,
    redact_progress,
)
from fabric.providers.core.http_calls import (
    build_json_call,
    decode_reply,
    retry_transient,
    send_with_token,
)
from fabric.providers.core.observing import MOST_LINES, LogQuestion, ObservedService
from fabric.providers.core.redaction import Redaction
from fabric.providers.core.retry import WAITING, RetryPolicy
from fabric.system.http.http_client import Http

Row: TypeAlias = Mapping[str, Json]
_LOGIN, _RIGHTS, _NOT_FOUND = 401, 403, 404


class _TableColumn(Struct, frozen=True):
    name: str


class _AnswerTable(Struct, frozen=True):
    columns: tuple[_TableColumn, ...] = ()
    rows: tuple[tuple[Json, ...], ...] = ()


class PartialFault(Struct, frozen=True):
    message: str = ""


class Tables(Struct, frozen=True):
    """A response. An `error` beside tables means that they are incomplete."""

    tables: tuple[_AnswerTable, ...] = ()
    error: PartialFault | None = None


def _list_rows(tables: Tables) -> Iterator[Row]:
    for table in tables.tables[:1]:
        names = [column.name for column in table.columns]
        for row in table.rows:
            yield dict(zip(names, row, strict=False))


_LEVELS = {0: "debug", 1: "info", 2: "warn", 3: "error", 4: "error"}


class Cloud3Workspace(Struct, frozen=True):
    """The endpoint of a workspace, with its token."""

    base_url: str
    read_token: Callable[[], str]
    id: str


class Cloud3Observer(Struct, frozen=True):
    http: Http
    workspace: Cloud3Workspace
    hide: Redaction
    waiting: RetryPolicy = WAITING

    def log_lines(
        self, service: ObservedService, asked: LogQuestion, watch: CallContext = NO_CONTEXT
    ) -> Iterable[LogLine]:
        most = asked.most_of(MOST_LINES)
        found = list(
            self._run_query(
                service, build_log_query(service, asked.text, most), asked.window, watch
            )
        )
        if len(found) >= most > asked.most:
            watch.hear(f"only the newest {most:,} lines were searched; there might be more")
        lines = (_convert_line(service, row) for row in found)
        return [line for line in lines if line is not None and asked.window.has(line.at)]

    def numbers(
        self, service: ObservedService, window: TimeWindow, watch: CallContext = NO_CONTEXT
    ) -> Iterable[FunctionNumbers]:
        found = list(self._run_query(service, build_count_query(service), window, watch))
        part = window.whole_minutes()
        bars = list(self._run_query(service, build_interval_query(service, part), window, watch))
        rows = {_read_text(row, "OperationName").lower(): row for row in found}
        whose = service.address
        return [
            FunctionNumbers(
                service=whose.service,
                function=one.name,
                provider=whose.label,
                calls=int(_number(row, "Calls") or 0),
                errors=int(_number(row, "Errors") or 0),
                p50_ms=_number(row, "P50"),
                p95_ms=_number(row, "P95"),
                over_time=_count_over_time(bars, one.name, window, part),
            )
            for one in service.functions
            for row in (rows.get(one.name.lower(), {}),)
        ]

    def traces(
        self, service: ObservedService, window: TimeWindow, watch: CallContext = NO_CONTEXT
    ) -> Iterable[TracedCall]:
        steps: dict[str, list[Row]] = {}
        for row in self._run_query(service, build_request_query(service), window, watch):
            steps.setdefault(_read_text(row, "OperationId"), []).append(row)
        calls = (_call(service, ident, rows) for ident, rows in steps.items())
        return [one for one in calls if one is not None]

    def _run_query(
        self, service: ObservedService, query: str, window: TimeWindow, watch: CallContext
    ) -> Iterator[Row]:
        document = {
            "query": query,
            "timespan": f"{format_moment(window.since)}/{format_moment(window.until)}",
        }
        path = f"/v1/workspaces/{quote(self.workspace.id, safe='')}/query"
        with self._convert_errors(service) as hide:
            heard = redact_progress(watch, hide.quote)
            tables = retry_transient(
                lambda: self._send_query(path, document), "Azure", self.waiting, heard
            )
        if tables.error is not None:
            watch.hear(f"incomplete result: {self.hide.quote(tables.error.message)}")
        yield from _list_rows(tables)

    def _send_query(self, path: str, document: Mapping[str, str]) -> Tables:
        call = build_json_call("POST", path, document)
        token = Secret(self.workspace.read_token())
        reply = send_with_token(self.http, self.workspace.base_url, token, call)
        if reply.ok:
            return decode_reply(call, reply, Tables)
        fault = decode_reply(call, reply, Cloud3Refusal).error
        raise RefusedCallError(reply.status, f"{fault.code} {fault.words}".strip(), call.title)

    @contextmanager
    def _convert_errors(self, service: ObservedService) -> Iterator[Redaction]:
        with convert_call_errors(
            f"`{service.address.service}`", _classify_refusal, self.hide
        ) as hide:
            yield hide


def _convert_line(service: ObservedService, row: Row) -> LogLine | None:
    function = _find_function_name(service, row)
    if not function:
        return None
    text, at = (
        _read_text(row, "Message").rstrip("\n"),
        parse_nanoseconds(_read_text(row, "TimeGenerated")),
    )
    severity = _number(row, "SeverityLevel")
    by_number = "" if severity is None else _LEVELS.get(int(severity), "")
    return replace(
        service.line(function, at, text),
        level=find_level(text) or by_number,
        request=_read_text(row, "OperationId"),
        id=_read_text(row, "_ItemId"),
        is_platform=_read_text(row, "Category").startswith(("Host.", "Microsoft.")),
    )


def _find_function_name(service: ObservedService, row: Row) -> str:
    """Return the function of a row. Azure names are case-insensitive."""
    name = _read_text(row, "OperationName").lower()
    return next((one.name for one in service.functions if one.name.lower() == name), "")


def _call(service: ObservedService, ident: str, rows: Sequence[Row]) -> TracedCall | None:
    function = next((name for row in rows if (name := _find_function_name(service, row))), "")
    if not function:
        return None
    steps = tuple(_convert_step(row) for row in rows)
    known = {one.id for one in steps}
    steps = tuple(one if one.parent in known else replace(one, parent="") for one in steps)
    root = min(steps, key=lambda one: (bool(one.parent), one.started_at))
    where = (service.address.service, function, service.address.label)
    return TracedCall(ident, *where, root.started_at, root.ms, root.status, steps)


def _convert_step(row: Row) -> TracedStep:
    return TracedStep(
        id=_read_text(row, "Id"),
        parent=_read_text(row, "ParentId"),
        name=_read_text(row, "Name"),
        started_at=parse_nanoseconds(_read_text(row, "TimeGenerated")),
        ms=_number(row, "DurationMs") or 0.0,
        status="ok" if _read_text(row, "Success").lower() in ("true", "") else "error",
    )


def _count_over_time(
    rows: Sequence[Row], function: str, window: TimeWindow, part: int
) -> tuple[int, ...]:
    own = (one for one in rows if _read_text(one, "OperationName").lower() == function.lower())
    counted = (
        (parse_nanoseconds(_read_text(one, "TimeGenerated")), _number(one, "Calls") or 0)
        for one in own
    )
    return window.in_parts(counted, part * SECOND)


def _read_text(row: Row, name: str) -> str:
    found = row.get(name)
    return found if isinstance(found, str) else "" if found is None else json.dumps(found)


def _number(row: Row, name: str) -> float | None:
    found = row.get(name)
    return None if found is None or found == "NaN" else convert(found, float, strict=False)


class Cloud3Fault(Struct, frozen=True):
    """An error. The innermost error has the actual cause."""

    code: str = ""
    message: str = ""
    innererror: Optional["Cloud3Fault"] = None

    @property
    def words(self) -> str:
        inner = self.innererror.words if self.innererror else ""
        return f"{self.message} {inner}".strip()


class Cloud3Refusal(Struct, frozen=True):
    error: Cloud3Fault = Cloud3Fault()


def _classify_refusal(whose: str, error: RefusedCallError, quoted: Quoted) -> Problem:
    words = f"{whose}: `{error.call}` was rejected, {quoted(error.words)}"
    if error.status == _LOGIN:
        hint = (
            "check `CLOUD3_ACCESS_TOKEN`: it expires after one hour and must be valid for Log "
            "Analytics"
        )
        return Problem("credentials/refused", words, hint)
    if error.status == _RIGHTS:
        hint = "grant the token's identity permission to read logs of the workspace"
        return Problem("credentials/refused", words, hint)
    if error.status == _NOT_FOUND:
        return Problem("provider/refused", words, "check `CLOUD3_LOG_ANALYTICS_WORKSPACE_ID`")
    return Problem("provider/refused", words, format_generic_hint("Azure"))


# Further triggers of a function are functions of the app with a number.
_WITHOUT_NUMBERS = " | extend OperationName = replace_regex(OperationName, '--[0-9]+$', '')"
# What the deploy command may say besides: the app that functions are in.
_APP = "functionApp"


def build_log_query(service: ObservedService, text: str, most: int) -> str:
    """Query the newest log lines and exceptions."""
    like = f" | where Message contains_cs {_quote_literal(text)}" if text else ""
    return (
        "union AppTraces, (AppExceptions | extend Message = strcat(ExceptionType, ': ', "
        f"OuterMessage)){_build_filter(service)}"
        " | extend Category = tostring(Properties.Category)"
        f"{like} | top {most} by TimeGenerated desc"
        " | project TimeGenerated, OperationName, OperationId, Message, SeverityLevel, Category, "
        "_ItemId"
    )


def build_count_query(service: ObservedService) -> str:
    return (
        f"AppRequests{_build_filter(service)} | summarize Calls = sum(ItemCount), "
        "Errors = sumif(ItemCount, Success == false), P50 = percentile(DurationMs, 50), "
        "P95 = percentile(DurationMs, 95) by OperationName"
    )


def build_interval_query(service: ObservedService, seconds: int) -> str:
    return (
        f"AppRequests{_build_filter(service)} | summarize Calls = sum(ItemCount) "
        f"by OperationName, bin(TimeGenerated, {seconds}s)"
    )


def build_request_query(service: ObservedService) -> str:
    return (
        f"union AppRequests, AppDependencies{_build_filter(service)}"
        " | project TimeGenerated, OperationName, OperationId, Id, ParentId, Name, DurationMs, "
        "Success | order by TimeGenerated asc"
    )


def _build_filter(service: ObservedService) -> str:
    names = ", ".join(_quote_literal(one.name) for one in service.functions)
    record = service.address.previous
    app = dict(record.outputs).get(_APP, "") if record else ""
    role = f" | where AppRoleName =~ {_quote_literal(app)}" if app else ""
    return f"{role}{_WITHOUT_NUMBERS} | where OperationName in~ ({names})"


def _quote_literal(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
