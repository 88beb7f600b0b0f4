from dataclasses import dataclass, field


@dataclass
class Store:
    notes: dict[int, str] = field(default_factory=dict)

    def all(self) -> list[str]:
        return list(self.notes.values())

    def get(self, number: int) -> str | None:
        return self.notes.get(number)

    def add(self, text: str) -> int:
        number = max(self.notes, default=0) + 1
        self.notes[number] = text
        return number
