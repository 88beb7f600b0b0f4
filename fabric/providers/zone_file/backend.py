"""The zone file backend `local`, which also replaces every other backend in simulated mode."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

from msgspec import DecodeError, Struct
from msgspec.json import Decoder, encode
from msgspec.json import format as formatted

from fabric.model.problems import FabricError, Place, Problem
from fabric.model.routing.routing import (
    DesiredRouting,
    RouterAction,
    RouterPart,
    RouterResource,
    Weights,
)
from fabric.providers.zone_file.records import ZoneLines, compare_zone, format_zone, with_foreign
from fabric.system.files.disk import lock_file, read_bytes, write_atomic

DesiredParts: TypeAlias = Callable[[DesiredRouting], tuple[RouterPart, ...]]
_VERSION = 1
_MOST_SERIAL = 0xFFFFFFFF


class ZoneRow(Struct, frozen=True, forbid_unknown_fields=True):
    """One record in the file, with its service and stage."""

    resource: RouterResource
    name: str
    detail: str
    owner: str
    weights: Weights = ()

    @property
    def key(self) -> tuple[str, str]:
        return self.resource, self.name


class ZoneDocument(Struct, frozen=True):
    """The zone file."""

    version: int
    hostname: str
    records: tuple[ZoneRow, ...] = ()
    # Counts changes, so that readers notice an outdated copy.
    serial: int = 0

    @property
    def next_serial(self) -> int:
        return self.serial % _MOST_SERIAL + 1


_DECODER = Decoder(ZoneDocument)


class ZoneFile:
    """The zone file backend. `wanted` computes the records of the simulated kind. With a `zone`
    path, a zone file for name servers is written too."""

    def __init__(
        self, kind: str, path: Path, wanted: DesiredParts, zone: Path | None = None
    ) -> None:
        self.kind = kind
        self._path = path
        self._wanted = wanted
        self._zone = zone

    @property
    def place(self) -> str:
        return str(self._path)

    def want(self, desired: DesiredRouting) -> tuple[RouterPart, ...]:
        return self._wanted(desired)

    def read(self, desired: DesiredRouting) -> tuple[RouterPart, ...]:
        document = self._read_document()
        parts = tuple(_build_part(row, desired.owner) for row in document.records)
        if self._zone is None:
            return parts
        lines = self._compare_lines(document)
        in_the_way = tuple(_find_conflicts(lines, self.want(desired)))
        # Only records that are missing or changed in the file of the name servers differ.
        stale = f"differs from {self._zone.name}"
        own = (_mark_stale(one, stale) if _is_lost(one, lines) else one for one in parts)
        return (*own, *in_the_way)

    def apply(self, desired: DesiredRouting, actions: Sequence[RouterAction]) -> None:
        wanted = {part.key: part for part in self.want(desired)}
        changed = [one for one in actions if one.changes]
        with lock_file(self._path.with_name(f".{self._path.name}.lock")):
            before = self._read_document()
            lines = self._compare_lines(before)
            rows = {row.key: row for row in before.records}
            for one in changed:
                part = wanted[one.resource, one.name]
                rows[part.key] = ZoneRow(
                    part.resource, part.name, part.detail, desired.owner, part.weights
                )
            document = ZoneDocument(
                _VERSION, desired.hostname, tuple(rows.values()), before.next_serial
            )
            write_atomic(
                self._path, formatted(encode(document), indent=2) + b"\n", mode=0o600, durable=True
            )
            if self._zone is not None:
                parts = tuple(_build_part(row, desired.owner) for row in rows.values())
                text = format_zone(desired.hostname, parts, document.serial)
                text = with_foreign(text, lines.foreign)
                write_atomic(self._zone, text.encode(), mode=0o600, durable=True)

    def close(self) -> None:
        """Do nothing: a file needs no closing."""

    def _compare_lines(self, document: ZoneDocument) -> ZoneLines:
        """Compare the name servers' file with the text that was written last."""
        if self._zone is None or not document.hostname:
            written = ""
        else:
            parts = tuple(_build_part(row, row.owner) for row in document.records)
            written = format_zone(document.hostname, parts, document.serial)
        try:
            text = read_bytes(self._zone).decode() if self._zone else ""
        except FileNotFoundError:
            text = ""
        except (OSError, UnicodeDecodeError) as error:
            raise self._unreadable_file_problem(f"{self._zone}: {error}") from error
        return compare_zone(text, written)

    def _read_document(self) -> ZoneDocument:
        try:
            content = read_bytes(self._path)
        except FileNotFoundError:
            return ZoneDocument(_VERSION, "")
        except OSError as error:
            raise self._unreadable_file_problem(str(error)) from error
        try:
            document = _DECODER.decode(content)
        except (DecodeError, UnicodeDecodeError) as error:
            raise self._unreadable_file_problem(str(error)) from error
        if document.version != _VERSION:
            raise self._unreadable_file_problem(f"its version is {document.version}")
        return document

    def _unreadable_file_problem(self, why: str) -> FabricError:
        message = f"cannot read the zone file `{self._path.name}`: {why}"
        hint = "fix the file, or move it away and run `fabric router dns-sync` to write it again"
        return FabricError(Problem("router/damaged-zone", message, hint, Place(str(self._path))))


def _build_part(row: ZoneRow, owner: str) -> RouterPart:
    is_ours = row.owner == owner
    return RouterPart(row.resource, row.name, row.detail, is_ours, weights=row.weights)


def _mark_stale(part: RouterPart, why: str) -> RouterPart:
    detail = f"{part.detail} ({why})"
    return RouterPart(
        resource=part.resource,
        name=part.name,
        detail=detail,
        is_ours=part.is_ours,
        ident=part.ident,
        weights=part.weights,
    )


def _is_lost(part: RouterPart, lines: ZoneLines) -> bool:
    line = f"{part.name.partition(' ')[0]} {part.detail}"
    return part.is_ours and line in lines.lost


def _find_conflicts(lines: ZoneLines, wanted: Sequence[RouterPart]) -> Iterator[RouterPart]:
    """Yield foreign records under our names; they are never changed."""
    names = {part.name.partition(" ")[0]: part for part in reversed(wanted)}
    for one in lines.foreign:
        own = names.get(one.name)
        if own is not None:
            detail = " ".join(one.text.split())
            yield RouterPart(own.resource, own.name, detail, is_ours=False)
