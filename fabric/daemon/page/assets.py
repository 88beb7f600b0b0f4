"""The dashboard's files, from the package and the diagram assets."""

import hashlib
from collections.abc import Callable
from importlib.resources import files
from typing import TYPE_CHECKING

from msgspec import Struct

from fabric.daemon.http_types import ApiAnswer, ApiCall
from fabric.daemon.statuses import NOT_MODIFIED, OK
from fabric.views.pictures.assets import read_asset

if TYPE_CHECKING:
    from collections.abc import Mapping

# No code and no style but what lies under our own addresses; nothing else is asked, or framed.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
PAGE, KEY_FORM = "page.html", "key.html"
_TYPES = {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
FILE_TYPES = tuple(one for one in _TYPES.values() if one != "text/html")
_OWN = (
    "page.css", "mark.svg", "theme.js", "key.js", "main.js", "ask.js", "elements.js", "words.js",
    "graph.js", "live_run.js", "sections.js", "dialogs.js", "standing.js", "tasks.js",
    "painting.js",
)  # fmt: skip
_OF_PICTURES = {
    "light.css": "palette_light.css",
    "dark.css": "palette_dark.css",
    "picture.css": "picture.css",
}


class PageFile(Struct, frozen=True):
    text: str
    content_type: str
    tag: str


class PageFiles:
    """Files read once, with ETags, so that browsers can reuse their copies."""

    def __init__(self) -> None:
        own = {name: _build_asset_path(name) for name in (PAGE, KEY_FORM, *_OWN)}
        pictures = {name: read_asset(source) + "\n" for name, source in _OF_PICTURES.items()}
        self._files = {name: _read_page_file(name, text) for name, text in (own | pictures).items()}

    @property
    def names(self) -> tuple[str, ...]:
        """Return the files with a path of their own."""
        return tuple(name for name in self._files if name not in (PAGE, KEY_FORM))

    def answer(self, call: ApiCall, name: str) -> ApiAnswer:
        return _build_file_answer(call, self._files[name])

    def page(self, call: ApiCall, fill: Callable[[str], str]) -> ApiAnswer:
        """Return the page with its initial content."""
        return _build_file_answer(call, _read_page_file(PAGE, fill(self._files[PAGE].text)))


def _build_file_answer(call: ApiCall, found: PageFile) -> ApiAnswer:
    headers: Mapping[str, str] = {
        "Cache-Control": "no-cache",
        "Content-Security-Policy": POLICY,
        "ETag": found.tag,
    }
    if found.tag in call.headers.get("if-none-match", ""):
        return ApiAnswer(NOT_MODIFIED, headers=headers)
    return ApiAnswer(OK, headers=headers, text=found.text, content_type=found.content_type)


def _build_asset_path(name: str) -> str:
    return (files("fabric.daemon.page") / "files" / name).read_text(encoding="utf-8")


def _read_page_file(name: str, text: str) -> PageFile:
    kind = _TYPES[name.rpartition(".")[2]]
    tag = hashlib.sha256(text.encode()).hexdigest()[:24]
    return PageFile(text, f"{kind}; charset=utf-8", f'"{tag}"')
