"""A unified diff of a file with secrets redacted."""

from fabric.config.yaml.frames import SourceLines

_AROUND = 3
_NO_BREAK = "\\ No newline at end of file"


def format_file_diff(name: str, old: str | None, new: str) -> str:
    """Format a diff with one hunk, because additions are contiguous. None means a new file."""
    before, after = _split_lines(old or ""), _split_lines(new)
    head = _count_common(before, after)
    tail = _count_common(before[head:][::-1], after[head:][::-1])
    start = max(0, head - _AROUND)
    ends = [min(len(side), len(side) - tail + _AROUND) for side in (before, after)]
    shown = [SourceLines(old or ""), SourceLines(new)]
    rows = [f" {shown[0].format_line(at + 1)}" for at in range(start, head)]
    rows += _format_side("-", before, shown[0], head, len(before) - tail)
    rows += _format_side("+", after, shown[1], head, len(after) - tail)
    rows += [f" {shown[1].format_line(at + 1)}" for at in range(len(after) - tail, ends[1])]
    name = name.removeprefix("/")
    first = "/dev/null" if old is None else f"a/{name}"
    ranges = [f"{start + 1 if end > start else start},{end - start}" for end in ends]
    return "\n".join([f"--- {first}", f"+++ b/{name}", f"@@ -{ranges[0]} +{ranges[1]} @@", *rows])


def _format_side(
    sign: str, lines: list[str], shown: SourceLines, start: int, end: int
) -> list[str]:
    rows = [f"{sign}{shown.format_line(at + 1)}" for at in range(start, end)]
    is_open = start < end == len(lines) and not lines[-1].endswith(("\n", "\r"))
    return [*rows, _NO_BREAK] if is_open else rows


def _split_lines(text: str) -> list[str]:
    return SourceLines(text).lines


def _count_common(left: list[str], right: list[str]) -> int:
    pairs = zip(left, right, strict=False)
    return next(
        (at for at, (one, two) in enumerate(pairs) if one != two), min(len(left), len(right))
    )
