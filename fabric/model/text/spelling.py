"""Spelling suggestions: the known word nearest to a mistyped one."""

from collections.abc import Iterable

_LONGEST = 64
_MOST = 2


def find_nearest(word: str, words: Iterable[str]) -> str:
    """Find the closest of `words`, or "" if none is close. Of equal ones the first is returned."""
    if len(word) > _LONGEST:
        return ""
    near = (known for known in sorted(words) if abs(len(known) - len(word)) <= _MOST)
    steps = ((compute_edit_distance(word.lower(), known.lower()), known) for known in near)
    close = [pair for pair in steps if pair[0] <= _compute_allowance(word, pair[1])]
    return min(close)[1] if close else ""


def suggest_spelling(word: str, words: Iterable[str]) -> str:
    """A hint for people, or "" when nothing comes close."""
    known = find_nearest(word, words)
    return f"did you mean `{known}`?" if known else ""


def compute_edit_distance(left: str, right: str) -> int:
    """Compute the edit distance: insert, drop, replace a character, or swap two neighbors."""
    before: list[int] = []
    row = list(range(len(right) + 1))
    for i, one in enumerate(left, 1):
        before, above, row = row, before, [i]
        for j, two in enumerate(right, 1):
            steps = min(row[j - 1] + 1, before[j] + 1, before[j - 1] + (one != two))
            if i > 1 and j > 1 and one == right[j - 2] and left[i - 2] == two:
                steps = min(steps, above[j - 2] + 1)
            row.append(steps)
    return row[-1]


def _compute_allowance(word: str, known: str) -> int:
    """Return the accepted distance: two edits, fewer for short words, so that `a` does not match
    `go`."""
    return min(_MOST, (max(len(word), len(known)) - 1) // 2)
