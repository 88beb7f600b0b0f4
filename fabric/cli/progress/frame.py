"""The current size of the terminal."""

import os

from fabric.views.board import Frame

_NARROW = Frame(80, 24)


def measure_frame() -> Frame:
    """The terminal, without its last column and two lines: a full one would scroll."""
    try:
        size = os.get_terminal_size(2)
    except OSError:
        return _NARROW
    return Frame(max(1, size.columns - 1), max(1, size.lines - 2))
