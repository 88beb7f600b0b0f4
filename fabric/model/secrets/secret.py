"""A value that is handed on and never shown: not printed, not formatted, not stored by accident."""

from typing import Generic, NoReturn, TypeVar

T = TypeVar("T")
_REFUSAL = "a secret cannot be used as text: call `reveal()`"


class Secret(Generic[T]):
    """A value that is redacted wherever it is printed or serialized.

    Only `reveal()` returns it, so every use can be found.
    """

    __slots__ = ("_held",)

    def __init__(self, held: T) -> None:
        self._held = held

    def reveal(self) -> T:
        return self._held

    def __repr__(self) -> str:
        return "Secret(***)"

    def __str__(self) -> NoReturn:
        raise TypeError(_REFUSAL)

    def __format__(self, spec: str) -> NoReturn:
        raise TypeError(_REFUSAL)

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError(_REFUSAL)

    def __bool__(self) -> bool:
        return bool(self._held)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Secret):
            return NotImplemented
        return bool(self._held == other.reveal())

    def __hash__(self) -> int:
        return hash(self._held)


NO_PAIRS: Secret[tuple[tuple[str, str], ...]] = Secret(())
NO_SECRETS: Secret[frozenset[str]] = Secret(frozenset())
