"""What a campaign found: how many rounds, what went wrong in them, and figures to tell."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Tally:
    """`wrong` has one text for each rule that a round broke."""

    name: str
    rounds: int
    wrong: tuple[str, ...]
    told: Mapping[str, object] = field(default_factory=dict)

    def lines(self) -> str:
        figures = "".join(f", {value} {name}" for name, value in self.told.items())
        found = "".join(f"\n  {one}" for one in self.wrong)
        return f"{self.name}: {self.rounds} rounds, {len(self.wrong)} wrong{figures}{found}"
