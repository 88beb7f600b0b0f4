"""Reports as JSON documents: one shape for every success and every failure."""

from collections.abc import Callable, Mapping

from msgspec import to_builtins
from msgspec.json import decode

from fabric.model.outcomes.built import BuildOutcome
from fabric.model.outcomes.json_struct import Json, JsonObject, JsonStruct
from fabric.model.outcomes.planned import PlanOutcome
from fabric.model.outcomes.queried import DevOutcome, DocumentOutcome, InvokeOutcome
from fabric.model.outcomes.recorded import RecordOutcome, StoredOutcome
from fabric.model.records.record_document import encode_record
from fabric.model.report import Report, encode_problem

FORMAT_VERSION = 1


def encode_report(report: Report) -> dict[str, object]:
    """The JSON document of a report."""
    document: dict[str, object] = {
        "ok": not report.problems,
        "command": report.command,
        "formatVersion": FORMAT_VERSION,
    }
    if report.outcome is not None:
        document["result"] = encode_outcome(report.outcome)
    if report.problems:
        document["error"] = {
            **encode_problem(report.problems[0]),
            "problems": [encode_problem(problem) for problem in report.problems],
        }
    return document


def encode_outcome(outcome: JsonStruct) -> Mapping[str, object]:
    """Encode an outcome by its kind. Most are encoded by their fields."""
    return _KINDS.get(type(outcome), _list_fields)(outcome)


def _list_fields(outcome: JsonStruct) -> JsonObject:
    found: dict[str, Json] = to_builtins(outcome)
    return {name: value for name, value in found.items() if name not in outcome.only_in_words}


def _encode_build(outcome: BuildOutcome) -> JsonObject:
    rows = [_list_fields(one) for one in outcome.artifacts]
    return {
        "artifacts": rows,
        "summary": {
            "ran": outcome.ran,
            "cached": outcome.cached,
            "failed": outcome.failed,
            "blocked": outcome.blocked,
            "ms": outcome.ms,
            "savedMs": sum(one.saved_ms for one in outcome.artifacts),
            **({"remote": _list_fields(outcome.remote)} if outcome.remote else {}),
            **({"shard": _list_fields(outcome.shard)} if outcome.shard else {}),
        },
    }


def _encode_document(outcome: DocumentOutcome) -> Mapping[str, object]:
    return outcome.document


def _record(outcome: RecordOutcome) -> Mapping[str, object]:
    hidden = ("salt", "versions", "releaseKey", "kept")
    shown = {name: one for name, one in encode_record(outcome.record).items() if name not in hidden}
    return {**shown, "lock": outcome.lock, "errored": outcome.is_unwritten}


def _encode_stored(outcome: StoredOutcome) -> Mapping[str, object]:
    document: Mapping[str, object] = decode(outcome.content)
    return document


def _encode_call(outcome: InvokeOutcome | DevOutcome) -> JsonObject:
    """Encode calls of a function. Without a warning there is no key for it."""
    fields = _list_fields(outcome)
    return {name: value for name, value in fields.items() if name != "warnings" or value}


def _encode_plan(outcome: PlanOutcome) -> JsonObject:
    fields = _list_fields(outcome)
    hidden = ("stacks", "workflows", "apis")
    return {name: value for name, value in fields.items() if name not in hidden or value}


_KINDS: Mapping[type[JsonStruct], Callable[..., Mapping[str, object]]] = {
    BuildOutcome: _encode_build,
    DevOutcome: _encode_call,
    DocumentOutcome: _encode_document,
    InvokeOutcome: _encode_call,
    PlanOutcome: _encode_plan,
    RecordOutcome: _record,
    StoredOutcome: _encode_stored,
}
