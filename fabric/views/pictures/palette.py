"""Colors by action, distinguishable with color blindness and in print: fill, dashes, plain line."""

from msgspec import Struct

from fabric.graph.decide import Action


class Paint(Struct, frozen=True):
    fill: str
    line: str
    ink: str
    dashed: bool = False


# Blue and amber differ for every kind of colour blindness; grey steps back (after Okabe and Ito).
LIGHT = {
    Action.RUN: Paint("#0b63b5", "#0b63b5", "#ffffff"),
    Action.WAIT: Paint("#fff3d6", "#b87400", "#4a3000", dashed=True),
    Action.SKIP: Paint("#ffffff", "#b4bac4", "#4b5563"),
}
