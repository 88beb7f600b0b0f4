"""The initial page content, also for browsers without scripts, as escaped HTML."""

from collections.abc import Iterator
from html import escape

from fabric.app.stage_status import StageNow
from fabric.model.problems import FabricError
from fabric.model.records.record import Record

_TITLE, _WORDS = "<title>fabric</title>", "<!-- first words -->"


def with_first_words(page: str, found: StageNow | FabricError) -> str:
    title, words = _build_parts(found)
    named = page.replace(_TITLE, f"<title>{escape(title)}</title>")
    return named.replace(_WORDS, "".join(words))


def _build_parts(found: StageNow | FabricError) -> tuple[str, Iterator[str]]:
    if isinstance(found, FabricError):
        return "fabric", iter((f"<p>{escape(found.first.message)}</p>",))
    return f"{found.service} · {found.stage}", _format_stage(found)


def _format_stage(found: StageNow) -> Iterator[str]:
    place = f"<b>{escape(found.service)}</b> in <b>{escape(found.stage)}</b>"
    if not found.live:
        yield f"<p>{place} has no deployments.</p>"
    for record in found.live:
        yield (
            f"<p>{place} on "
            f"{escape(record.ref.provider)}:</p><dl>{''.join(_format_rows(record))}</dl>"
        )


def _format_rows(record: Record) -> Iterator[str]:
    rows = {
        "deployment": record.deployment_id,
        "mode": record.mode.value,
        "deployed": record.updated_at,
        "endpoint": record.endpoint,
        **dict(record.outputs),
    }
    for name, value in rows.items():
        yield f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>"
