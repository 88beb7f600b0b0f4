"""The project around a source file: its other files, read only when a source refers to them."""

from collections.abc import Callable

from msgspec import Struct


class Surroundings(Struct, frozen=True):
    """Access to files by path relative to the source. Paths outside the project are not found."""

    # Returns None if there is no such file.
    read_text: Callable[[str], str | None]
    # Names in a directory.
    list_names: Callable[[str], tuple[str, ...]]
    is_file: Callable[[str], bool]
    is_folder: Callable[[str], bool]
    folder_name: str = "service"


def build_empty_surroundings() -> Surroundings:
    return Surroundings(lambda _: None, lambda _: (), lambda _: False, lambda _: False)
