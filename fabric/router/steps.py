"""Parse a traffic shift in steps."""

from fabric.model.problems import FabricError, Problem
from fabric.model.routing import WHOLE


def parse_steps(text: str, others: int) -> tuple[int, ...]:
    """Parse `5,25,50,100`: each step is a percentage. 100 means the maximum, because each other
    endpoint keeps 1."""
    words = [word.strip() for word in text.split(",")]
    if not all(word.isascii() and word.isdecimal() and 1 <= int(word) <= WHOLE for word in words):
        message = f"invalid value for --steps: `{text}` is not a list of percentages"
        raise FabricError(
            Problem("usage/bad-steps", message, "use a list such as --steps 5,25,50,100")
        )
    percents = [int(word) for word in words]
    if percents != sorted(set(percents)):
        message = f"invalid value for --steps: `{text}` is not increasing"
        raise FabricError(
            Problem("usage/bad-steps", message, "use a list such as --steps 5,25,50,100")
        )
    # The last but one may be as much already.
    most = WHOLE - others
    return tuple(dict.fromkeys(most if one == WHOLE else one for one in percents))


def select_steps_up(steps: tuple[int, ...], label: str, share: int) -> tuple[int, ...]:
    """Return the steps above the present weight: a shift in steps only increases it."""
    left = tuple(one for one in steps if one > share)
    if left:
        return left
    listed = ",".join(map(str, steps))
    message = f"`{label}` already has {share} %, and none of the steps {listed} is higher"
    hint = f"use `--percent` to decrease traffic, or a step above {share}"
    raise FabricError(Problem("usage/bad-steps", message, hint))
