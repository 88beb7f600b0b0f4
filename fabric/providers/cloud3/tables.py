"""Log Analytics responses: tables with rows as lists."""

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from msgspec import Struct

from fabric.model.outcomes.json_struct import Json

Row: TypeAlias = Mapping[str, Json]


class _TableColumn(Struct, frozen=True):
    name: str


class _AnswerTable(Struct, frozen=True):
    columns: tuple[_TableColumn, ...] = ()
    rows: tuple[tuple[Json, ...], ...] = ()


class PartialFault(Struct, frozen=True):
    message: str = ""


class Tables(Struct, frozen=True):
    """A response. An `error` beside tables means that they are incomplete."""

    tables: tuple[_AnswerTable, ...] = ()
    error: PartialFault | None = None


def list_rows(tables: Tables) -> Iterator[Row]:
    for table in tables.tables[:1]:
        names = [column.name for column in table.columns]
        for row in table.rows:
            yield dict(zip(names, row, strict=False))
