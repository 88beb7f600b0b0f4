"""Problems of one file, sorted, with its name and the lines they are about."""

from collections.abc import Iterable

from fabric.config.yaml.frames import SourceLines, add_frame
from fabric.config.yaml.reader import Document, read
from fabric.model.problems import FabricError, Place, Problem


def open_document(file: str, raw: bytes) -> Document:
    """Read the document of a file. Reader errors are raised with their lines."""
    try:
        return read(file, raw)
    except FabricError as error:
        raise make_yaml_error(file, raw.decode("utf-8", "replace"), error.problems) from error


def make_yaml_error(file: str, text: str, problems: Iterable[Problem]) -> FabricError:
    return FabricError(*place_in_file(file, text, problems))


def place_in_file(file: str, text: str, problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """The problems in the order of the file, each with its frame."""
    found = sorted(problems, key=_get_position)
    # Cutting a big file into lines takes time; a problem of the whole file needs none.
    lines = SourceLines(
        text if any(problem.where and problem.where.line for problem in found) else ""
    )
    return tuple(add_frame(problem, file, lines) for problem in found)


def _get_position(problem: Problem) -> tuple[int, int]:
    where = problem.where or Place("")
    return where.line, where.column
