"""Colours by meaning; without colour the words alone must do."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Style:
    colour: bool = False

    def good(self, text: str) -> str:
        return self._paint("32", text)

    def bad(self, text: str) -> str:
        return self._paint("1;31", text)

    def warn(self, text: str) -> str:
        return self._paint("33", text)

    def note(self, text: str) -> str:
        return self._paint("36", text)

    def dim(self, text: str) -> str:
        return self._paint("2", text)

    def strong(self, text: str) -> str:
        return self._paint("1", text)

    def _paint(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.colour else text
