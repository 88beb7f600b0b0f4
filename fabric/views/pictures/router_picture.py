"""A router diagram: hostname, weights and endpoint health."""

import base64
import hashlib
from collections.abc import Callable, Iterator, Mapping
from html import escape

from fabric.model.outcomes.routed import EndpointRow, RouterStatusOutcome
from fabric.views.pictures.assets import read_picture_style
from fabric.views.pictures.drawing import escape_controls, shorten_to_fit

_WIDTH, _MARGIN, _TOP = 880, 32, 88
_ROW, _BOX = 72, 52
_NAME_BOX, _END_BOX = 260, 400
_TEXT = 12.0
# A line of so many pixels stands for all of the traffic.
_WIDEST = 14.0
_STYLE = """\
svg.fabric .share { fill: none; stroke: var(--far); }
svg.fabric .endpoint .box { fill: var(--lane); stroke: var(--skip-line); }
svg.fabric .endpoint.well .box { fill: var(--done); stroke: var(--done-line); }
svg.fabric .endpoint.well text { fill: var(--done-ink); }
svg.fabric .endpoint.ill .box { fill: var(--failed); stroke: var(--failed-line); }
svg.fabric .endpoint.ill text { fill: var(--failed-ink); }"""


def draw_router_svg(found: RouterStatusOutcome) -> str:
    down = _TOP + max(1, len(found.endpoints)) * _ROW + _MARGIN
    middle = _TOP + (max(1, len(found.endpoints)) * _ROW) / 2
    return "\n".join(
        [
            *_draw_head(found, down),
            *_name(found, middle),
            *(line for row in enumerate(found.endpoints) for line in _draw_endpoint(*row, middle)),
            "</svg>",
        ]
    )


def draw_router_page(found: RouterStatusOutcome) -> str:
    """Draw the diagram as a standalone page without requests or scripts."""
    style = "html,body{margin:0}svg{display:block;width:100%;height:auto}"
    own = (style, f"{read_picture_style()}\n{_STYLE}")
    hashes = " ".join(f"'sha256-{_hash_text(text)}'" for text in own)
    policy = f"default-src 'none'; style-src {hashes}; base-uri 'none'; form-action 'none'"
    title = escape(escape_controls(found.hostname))
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        f"<title>{title}</title>\n<style>{style}</style>\n</head>\n<body>\n"
        f"{draw_router_svg(found)}\n</body>\n</html>"
    )


def _hash_text(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")


ROUTER_FORMS: Mapping[str, Callable[[RouterStatusOutcome], str]] = {
    "svg": draw_router_svg,
    "html": draw_router_page,
}


def _draw_head(found: RouterStatusOutcome, down: float) -> Iterator[str]:
    title = f"{found.hostname}: {found.service} ({found.stage})"
    size = f'width="{_WIDTH}" height="{down:g}" viewBox="0 0 {_WIDTH} {down:g}"'
    yield f'<svg xmlns="http://www.w3.org/2000/svg" class="fabric" role="img" {size}>'
    yield f"<title>{_escape_text(title)}</title>"
    yield f"<style>{read_picture_style()}\n{_STYLE}</style>"
    yield f'<rect class="back" width="{_WIDTH}" height="{down:g}"/>'
    yield f'<text class="headline" x="{_MARGIN}" y="42">{_shorten(title, _WIDTH - 64, 17.0)}</text>'
    yield f'<text class="quiet" x="{_MARGIN}" y="64">{_shorten(_format_state(found), 800)}</text>'


def _format_state(found: RouterStatusOutcome) -> str:
    drift = found.summary
    if drift is None:
        said = "not all endpoints are deployed"
    else:
        said = "drift detected" if drift.drift_detected else "up to date"
    kept = "local zone file" if found.simulated else found.place
    return f"{found.provider}, {kept}, {found.routing}: {said}"


def _name(found: RouterStatusOutcome, middle: float) -> Iterator[str]:
    top = middle - _BOX / 2
    yield '<g class="node run">'
    yield _draw_box(_MARGIN, top, _NAME_BOX)
    text = _shorten(found.hostname, _NAME_BOX - 24, 13.0)
    yield f'<text x="{_MARGIN + 12}" y="{middle + 4:g}">{text}</text></g>'


def _draw_endpoint(number: int, row: EndpointRow, middle: float) -> Iterator[str]:
    left, top = _WIDTH - _MARGIN - _END_BOX, _TOP + number * _ROW
    height = top + _BOX / 2
    start, bend = _MARGIN + _NAME_BOX, (_MARGIN + _NAME_BOX + left) / 2
    thick = max(1.0, _WIDEST * row.weight / 100)
    yield (
        f'<path class="share" stroke-width="{thick:g}" '
        f'd="M{start},{middle:g}C{bend:g},{middle:g} {bend:g},{height:g} {left},{height:g}"/>'
    )
    yield (
        '<g class="node endpoint '
        f'{_format_health(row)}"><title>{_escape_text(_format_endpoint(row))}</title>'
    )
    yield _draw_box(left, top, _END_BOX)
    first = _shorten(f"{row.label}  {row.weight} %", _END_BOX - 24)
    yield f'<text class="service" x="{left + 12}" y="{top + 22}">{first}</text>'
    second = _shorten(f"{_format_endpoint(row)}  {row.url}".strip(), _END_BOX - 24)
    yield f'<text x="{left + 12}" y="{top + 40}">{second}</text></g>'


def _format_health(row: EndpointRow) -> str:
    if not row.url:
        return "ill"
    return ("well" if row.healthy else "ill") if row.checked else "unknown"


def _format_endpoint(row: EndpointRow) -> str:
    if not row.checked or not row.healthy:
        return row.detail
    return f"healthy, {row.latency_ms} ms"


def _draw_box(left: float, top: float, across: float) -> str:
    place = f'x="{left:g}" y="{top:g}" width="{across:g}" height="{_BOX}"'
    return f'<rect class="box" {place} rx="8"/>'


def _shorten(text: str, room: float, size: float = _TEXT) -> str:
    return escape(shorten_to_fit(text, room, size))


def _escape_text(text: str) -> str:
    return escape(escape_controls(text))
