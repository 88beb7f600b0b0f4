"""A prompt as terminal lines that fit its width and height."""

from unicodedata import combining, east_asian_width

from msgspec import Struct

from fabric.cli.picker.state import ListedChoice, PickerState, TextState
from fabric.views.style import Style

# More than these are scrolled through.
_MOST_ROWS = 12
# The title, and what stands below the list.
_OTHER_ROWS = 2


class TerminalSize(Struct, frozen=True):
    columns: int
    rows: int


def measure_cells(text: str) -> int:
    """Measure the terminal columns of a text."""
    return sum(_measure_character(sign) for sign in text)


def _measure_character(sign: str) -> int:
    if combining(sign):
        return 0
    return 2 if east_asian_width(sign) in "WF" else 1


def cut(text: str, columns: int) -> str:
    """Cut to the width. The last column stays free, because some terminals wrap there."""
    room = max(1, columns - 1)
    if measure_cells(text) <= room:
        return text
    kept, used = "", 1
    for sign in text:
        used += _measure_character(sign)
        if used > room:
            break
        kept += sign
    return f"{kept}…"


def draw_picker(state: PickerState, size: TerminalSize, style: Style) -> tuple[str, ...]:
    fitting = state.fitting
    room = max(1, min(_MOST_ROWS, size.rows - _OTHER_ROWS))
    top = max(0, min(state.at - room // 2, len(fitting) - room))
    rows = tuple(
        _draw_row(one, size, style, is_at=top + number == state.at)
        for number, one in enumerate(fitting[top : top + room])
    )
    nothing = (style.warn(cut("  no match: press Backspace or Esc", size.columns)),)
    below = (_draw_more(len(fitting), room, size, style),) if size.rows > _OTHER_ROWS else ()
    return (_draw_title(state.title, state.typed, size, style), *(rows or nothing), *below)


def draw_text_prompt(state: TextState, size: TerminalSize, style: Style) -> tuple[str, ...]:
    default = f" ({state.default})" if state.default and not state.typed else ""
    below = (style.warn(cut(f"  {state.complaint}", size.columns)),) if state.complaint else ()
    return (_draw_title(f"{state.title}{default}", state.typed, size, style), *below)


def draw_answered(title: str, answer: str, size: TerminalSize, style: Style) -> str:
    """Return the line that stays on the screen."""
    return f"{style.good('✓')} {cut(f'{title}: {answer}', size.columns - 2)}"


def _draw_title(title: str, typed: str, size: TerminalSize, style: Style) -> str:
    """Draw the title. Of a long text the end is shown, where the user types."""
    head = f"? {title}:"
    room = size.columns - measure_cells(head) - 3
    seen = typed
    while seen and measure_cells(seen) > max(1, room):
        seen = seen[1:]
    return f"{style.strong(cut(head, size.columns))} {seen}".rstrip(" ")


def _draw_row(one: ListedChoice, size: TerminalSize, style: Style, *, is_at: bool) -> str:
    note = f"  {one.note}" if one.note else ""
    line = cut(f"{'>' if is_at else ' '} {one.name}{note}", size.columns)
    return style.note(line) if is_at else line


def _draw_more(count: int, room: int, size: TerminalSize, style: Style) -> str:
    more = f"{count} total · " if count > room else ""
    return style.dim(cut(f"  {more}↑↓ move, Enter selects, type to filter", size.columns))
