"""Queries to Cloudflare telemetry: one API with filters for events, counts and traces."""

from collections.abc import Sequence
from typing import TypeVar
from urllib.parse import quote

from msgspec import Struct

from fabric.model.observed import TimeWindow
from fabric.model.outcomes.json_struct import JsonObject
from fabric.providers.core.contract import CallContext, LiveFunction
from fabric.providers.core.http_calls import build_json_call, retry_transient
from fabric.providers.core.retry import WAITING, RetryPolicy
from fabric.providers.edge1.client import Edge1Api

T = TypeVar("T")
MS = 1_000_000
_DATASETS = ("cloudflare-workers",)
# In one filter: its value is a list with commas, and no query is endless.
_NAMES = 100


class TelemetryQuestion(Struct, frozen=True):
    """A query. `view` is the shape of the response; `paging` limits its size."""

    view: str
    parameters: JsonObject
    paging: JsonObject = {}


class Edge1Asking(Struct, frozen=True):
    """Read-only queries: each can be repeated."""

    api: Edge1Api
    watch: CallContext
    waiting: RetryPolicy = WAITING

    def query(self, window: TimeWindow, question: TelemetryQuestion, kind: type[T]) -> T:
        document = {
            **question.paging,
            "view": question.view,
            "queryId": "fabric",
            "dry": True,
            "timeframe": {"from": window.since // MS, "to": -(-window.until // MS)},
            "parameters": {"datasets": list(_DATASETS), **question.parameters},
        }
        account = quote(self.api.account.account, safe="")
        path = f"/accounts/{account}/workers/observability/telemetry/query"
        call = build_json_call("POST", path, document)
        due = self.api.rate.pause
        return retry_transient(
            lambda: self.api.once(call, kind), "Cloudflare", self.waiting, self.watch, due
        )


def batch_functions(functions: Sequence[LiveFunction]) -> list[dict[str, str]]:
    """Map Worker names to function names, in batches of the maximum query size."""
    rows = [(one.resource_name, one.name) for one in functions]
    return [dict(rows[begin : begin + _NAMES]) for begin in range(0, len(rows), _NAMES)]


def build_worker_filter(names: Sequence[str] | dict[str, str]) -> JsonObject:
    return build_condition("$metadata.service", "in", ",".join(names))


def build_condition(key: str, operation: str, value: str | int) -> JsonObject:
    kind = "string" if isinstance(value, str) else "number"
    return {"kind": "filter", "key": key, "operation": operation, "type": kind, "value": value}


def join_conditions(*conditions: JsonObject) -> JsonObject:
    return {"kind": "group", "filterCombination": "or", "filters": list(conditions)}
