"""Text for router commands."""

from collections.abc import Mapping, Sequence

from fabric.model.outcomes import routed
from fabric.model.routing.routing import RouterVerb
from fabric.model.text.amounts import format_count
from fabric.views.state_text import format_table
from fabric.views.style import Style

_BARS = " ▁▂▃▄▅▆▇█"
_SHOWN = 10
_SIGNS = {
    RouterVerb.CREATE: "+",
    RouterVerb.UPDATE: "~",
    RouterVerb.NO_OP: "=",
    RouterVerb.DELETE_CANDIDATE: "?",
}


def deploy_text(done: routed.RouterDeployOutcome, style: Style) -> str:
    rows = [(one.provider, one.status, one.endpoint) for one in done.deployments]
    said = format_table(rows) if rows else "No deployments."
    return f"{said}\n{sync_text(done.sync, style)}" if done.sync else said


def sync_text(done: routed.SyncOutcome, _style: Style) -> str:
    rows = [(one.label, f"{one.weight} %", one.url) for one in done.endpoints]
    said = "would route" if done.dry_run else "routes"
    where = f"stored in {done.place}" if done.simulated else f"at {done.place}"
    head = f"{done.hostname} {said} to ({where}):"
    return "\n".join(
        [
            head,
            _shift_text(format_table(rows)),
            *_format_actions(done.actions),
            _format_drift(done.summary, applied=not done.dry_run),
        ]
    )


def format_steps(done: routed.StepsOutcome, _style: Style) -> str:
    gone = ", ".join(f"{one.percent} %" for one in done.steps) or "no steps"
    now = ", ".join(f"{label} {weight} %" for label, weight in done.weights.items())
    if done.dry_run:
        return f"{done.label} would be set to: {gone}"
    end = " (previous weights restored)" if done.went_back else ""
    return f"{done.label} was set to: {gone}{end}\nWeights: {now}"


def reconcile_text(found: routed.RouterReconcileOutcome, _style: Style) -> str:
    if not found.summary.drift_detected:
        return "No drift: DNS is up to date."
    last = (
        "Nothing was changed. To apply: --apply" if found.dry_run else "The changes were applied."
    )
    drift = _format_drift(found.summary, applied=not found.dry_run)
    return "\n".join([*_format_actions(found.actions), drift, last])


def format_history(found: routed.HistoryOutcome, _style: Style) -> str:
    if not found.entries:
        return "No DNS changes yet."
    last = found.entries[0]
    rows = [
        (
            one.created_at,
            one.operation,
            _format_entry(one),
            " ".join(f"{share.label}={share.weight}" for share in one.after),
            one.id,
            " ".join(one.reason.split()),
        )
        for one in found.entries[:_SHOWN]
    ]
    head = f"Last: {last.operation} by {last.trigger}{_format_entry(last, ', ')}, {last.created_at}"
    left = len(found.entries) - len(rows)
    more = [f"{left} older entries not shown (--json lists them all)"]
    return "\n".join([head, *_draw_trend(found.trend), format_table(rows), *(more if left else ())])


def _format_entry(one: routed.SyncEntry, before: str = "") -> str:
    return f"{before}dry run" if one.dry_run else ""


def _draw_trend(points: Sequence[routed.TrendPoint]) -> list[str]:
    """Draw one row of bars per label, oldest on the left."""
    labels = dict.fromkeys(label for point in points for label in point.weights)
    rows = [
        (label, "".join(_draw_bar(point.weights.get(label, 0)) for point in points))
        for label in labels
    ]
    return [_shift_text(format_table(rows))] if rows else []


def _draw_bar(weight: int) -> str:
    return _BARS[min(len(_BARS) - 1, -(-weight * (len(_BARS) - 1) // 100))]


def format_router_status(found: routed.RouterStatusOutcome, style: Style) -> str:
    drift = found.summary
    if drift is None:
        said = "not all endpoints are deployed"
    else:
        said = _format_drift(drift) if drift.drift_detected else "up to date"
    taken = [f"  other owner: {one.resource} {one.name}: {one.detail}" for one in found.foreign]
    if taken and drift is not None:
        said = "not managed: the hostname has records of another owner"
    kept = "stored in" if found.simulated else "at"
    return "\n".join(
        [
            f"{found.hostname}: {found.provider}, {kept} {found.place}",
            f"  {found.routing}, TTL {found.ttl} s: {said}",
            *taken,
            format_endpoints(
                routed.EndpointsOutcome(found.service, found.stage, found.endpoints), style
            ),
        ]
    )


def format_endpoints(found: routed.EndpointsOutcome, _style: Style) -> str:
    head = ("LABEL", "PROVIDER", "WEIGHT", "HEALTH", "LATENCY", "URL")
    rows = [
        (
            one.label,
            one.provider,
            f"{one.weight} %",
            _format_health(one),
            "" if one.latency_ms is None else f"{one.latency_ms} ms",
            one.url,
        )
        for one in found.endpoints
    ]
    return format_table([head, *rows])


def _format_health(one: routed.EndpointRow) -> str:
    return ("healthy" if one.healthy else one.detail or "down") if one.checked else one.detail


def simulate_text(found: routed.SimulateOutcome, _style: Style) -> str:
    return _format_counts(found.shares, found.requests)


def _format_counts(shares: Mapping[str, int], total: int) -> str:
    rows = [
        (label, str(count), f"{100 * count / total:.2f} %" if total else "")
        for label, count in shares.items()
    ]
    return format_table(rows)


def format_chaos(found: routed.ChaosOutcome, _style: Style) -> str:
    return format_table([(one.verdict, ", ".join(one.down), one.detail) for one in found.scenarios])


def _format_actions(actions: Sequence[routed.RouterActionRow]) -> list[str]:
    return [f"  {_SIGNS[one.action]} {one.resource} {one.name}: {one.detail}" for one in actions]


def _format_drift(summary: routed.DriftRow, *, applied: bool = False) -> str:
    more = f", {format_count(summary.delete_candidate, 'unused record')} kept"
    create, update = ("created", "updated") if applied else ("to create", "to update")
    counts = f"{summary.create} {create}, {summary.update} {update}, {summary.noop} up to date"
    return f"{counts}{more if summary.delete_candidate else ''}"


def _shift_text(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())
