"""A shift in steps: which shares follow each other, read from what was said."""

from fabric.model.problems import FabricError, Problem
from fabric.model.routing import WHOLE


def steps_of(text: str, others: int) -> tuple[int, ...]:
    """`5,25,50,100`: each step is a percent; 100 is as much as there can be, for each other
    endpoint keeps 1."""
    words = [word.strip() for word in text.split(",")]
    if not all(word.isascii() and word.isdecimal() and 1 <= int(word) <= WHOLE for word in words):
        message = f"--steps {text} is no list of percents"
        raise FabricError(Problem("usage/bad-steps", message, "as in --steps 5,25,50,100"))
    percents = [int(word) for word in words]
    if percents != sorted(set(percents)):
        message = f"--steps {text} does not go up step by step"
        raise FabricError(Problem("usage/bad-steps", message, "as in --steps 5,25,50,100"))
    # The last but one may be as much already.
    most = WHOLE - others
    return tuple(dict.fromkeys(most if one == WHOLE else one for one in percents))


def steps_up(steps: tuple[int, ...], present: tuple[str, int]) -> tuple[int, ...]:
    """Those above what the label has at present: a shift in steps goes up only."""
    label, share = present
    left = tuple(one for one in steps if one > share)
    if left:
        return left
    listed = ",".join(map(str, steps))
    message = f"`{label}` has {share} % already: none of the steps {listed} goes up"
    hint = f"go down with `--percent`, or name a step above {share}"
    raise FabricError(Problem("usage/bad-steps", message, hint))
