"""The project around a source file: its other files, read only when a source refers to them."""

import posixpath
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
    # The directory of the source relative to that of the config.
    prefix: str = ""
    # How many directories above the config belong to the workspace, which has a compose file.
    height: int = 0

    def place(self, path: str) -> str:
        """Return a path of the source relative to the config."""
        if not path:
            return ""
        path = posixpath.join(self.prefix, path.removeprefix("./"))
        is_elsewhere = bool(self.prefix) or path.startswith("../")
        return posixpath.normpath(path) if is_elsewhere else path

    def leaves_workspace(self, path: str) -> bool:
        """Return whether a path relative to the config is not in the workspace."""
        return path.split("/").count("..") > self.height


def is_outside(path: str) -> bool:
    """Return whether a path is not below the directory of the config."""
    return path == ".." or path.startswith("../")


def build_empty_surroundings() -> Surroundings:
    return Surroundings(lambda _: None, lambda _: (), lambda _: False, lambda _: False)
