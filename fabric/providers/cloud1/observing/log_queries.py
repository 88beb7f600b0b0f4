"""Log lines of many groups: a query over fifty groups at a time, polled until it is complete."""

import datetime
import itertools
from collections.abc import Iterable, Sequence

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from fabric.model.observed import SECOND, LogLine, convert_to_nanoseconds
from fabric.model.problems import FabricError, Problem
from fabric.providers.cloud1.clients import Cloud1Clients
from fabric.providers.cloud1.observing.groups import (
    find_group_function,
    group_of,
    parse_log_message,
)
from fabric.providers.core.contract import CallContext
from fabric.providers.core.observing import MOST_LINES, LogQuestion, ObservedService
from fabric.providers.core.retry import RetryPolicy, poll_until

_GROUPS = 50
_PENDING = frozenset(("Scheduled", "Running", "Unknown"))


class _QueryField(Struct, frozen=True):
    field: str
    value: str = ""


class _QueryAnswer(Struct, frozen=True):
    status: str
    results: tuple[tuple[_QueryField, ...], ...] = ()


class _FoundGroup(Struct, frozen=True, rename="camel"):
    log_group_name: str


class _GroupPage(Struct, frozen=True, rename="camel"):
    log_groups: tuple[_FoundGroup, ...] = ()
    next_token: str = ""


def query_log_lines(
    clients: Cloud1Clients,
    service: ObservedService,
    asked: LogQuestion,
    patience: tuple[RetryPolicy, CallContext],
) -> list[LogLine]:
    groups = _list_existing_groups(clients, service)
    lines: list[LogLine] = []
    for begin in range(0, len(groups), _GROUPS):
        answer = _run_query(clients, groups[begin : begin + _GROUPS], asked, patience)
        most = asked.most_of(MOST_LINES)
        if len(answer.results) >= most > min(asked.most, MOST_LINES - 1):
            patience[1].hear(f"only the newest {most:,} lines were searched; there might be more")
        lines += _parse_rows(service, answer.results)
    return [line for line in lines if asked.window.has(line.at)]


def _list_existing_groups(clients: Cloud1Clients, service: ObservedService) -> list[str]:
    """List the existing groups: a query of a missing group is rejected, and an uncalled function
    has none."""
    wanted = {group_of(one) for one in service.functions}
    begin, token = _find_common_prefix(sorted(wanted)), ""
    found: list[str] = []
    while True:
        more = {"nextToken": token} if token else {}
        answer = clients.of("logs").describe_log_groups(logGroupNamePrefix=begin, **more)
        page = msgspec.convert(answer, _GroupPage)
        found += [one.log_group_name for one in page.log_groups if one.log_group_name in wanted]
        token = page.next_token
        if not token:
            return found


def _find_common_prefix(names: Sequence[str]) -> str:
    first, last = names[0], names[-1]
    pairs = zip(first, last, strict=False)
    return "".join(one for one, _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))


def _run_query(
    clients: Cloud1Clients,
    groups: Sequence[str],
    asked: LogQuestion,
    patience: tuple[RetryPolicy, CallContext],
) -> _QueryAnswer:
    logs = clients.of("logs")
    query = logs.start_query(
        logGroupNames=list(groups),
        startTime=asked.window.since // SECOND,
        endTime=-(-asked.window.until // SECOND),
        queryString=_query(asked),
        limit=asked.most_of(MOST_LINES),
    )["queryId"]

    def poll_query() -> _QueryAnswer | None:
        answer = msgspec.convert(logs.get_query_results(queryId=query), _QueryAnswer)
        return None if answer.status in _PENDING else answer

    found = poll_until(poll_query, *patience)
    if found is None or found.status != "Complete":
        logs.stop_query(queryId=query)
        said = found.status if found else "timeout"
        message = f"a query over {len(groups)} log groups failed: {said}"
        raise FabricError(Problem("provider/failed", message, "choose a shorter time range"))
    return found


def _query(asked: LogQuestion) -> str:
    plain = asked.text and not set(asked.text) & set("\"'\\")
    like = f'| filter strcontains(@message, "{asked.text}") ' if plain else ""
    return f"fields @timestamp, @message, @log, @ptr {like}| sort @timestamp desc"


def _parse_rows(
    service: ObservedService, rows: Iterable[Sequence[_QueryField]]
) -> Iterable[LogLine]:
    for row in rows:
        texts = {one.field: one.value for one in row}
        function = find_group_function(texts.get("@log", ""), service)
        if function:
            at, message = _time(texts["@timestamp"]), texts.get("@message", "")
            line = service.line(function, at, message)
            yield replace(parse_log_message(line, message), id=texts.get("@ptr", ""))


def _time(text: str) -> int:
    """Parse a timestamp in UTC without a zone, with or without milliseconds."""
    if text.isdecimal():
        return int(text) * 1_000_000
    return convert_to_nanoseconds(
        datetime.datetime.fromisoformat(text).replace(tzinfo=datetime.UTC)
    )
