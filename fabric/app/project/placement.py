"""The location of a service's record: known without a config after compilation."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from msgspec import Struct, convert
from msgspec.structs import astuple

from fabric.app.project.files import EnvPlace
from fabric.model.backends import back_end_facts
from fabric.model.records.record import RecordRef
from fabric.model.task import Pairs


class Placement(Struct, frozen=True):
    """One service at one provider.

    `folder` contains its config, `home` is its `.fabric` directory.
    """

    service: str
    stage: str
    provider: str
    provider_id: str
    region: str
    mode: str
    folder: str
    home: str
    backend: str
    settings: Pairs
    # All providers of its config.
    labels: tuple[str, ...] = ()
    # The size of its largest environment without upstream addresses, with the number of uses of
    # each address.
    taken: tuple[int, tuple[tuple[str, int], ...]] = (0, ())
    # The directory of the compose file, if there is one.
    workspace: str = ""
    # The variables that the config reads.
    declared: tuple[str, ...] = ()

    @property
    def is_own_folder(self) -> bool:
        """Return whether its records are in its project directory."""
        return back_end_facts(self.backend).is_own_folder

    @property
    def env_place(self) -> EnvPlace:
        workspace = Path(self.workspace or self.folder)
        return EnvPlace(Path(self.folder), workspace, frozenset(self.declared))

    @property
    def ref(self) -> RecordRef:
        return RecordRef(self.service, self.stage, self.provider)


def pack_placements(placements: Iterable[Placement]) -> tuple[tuple[object, ...], ...]:
    return tuple(astuple(placement) for placement in placements)


def unpack_placements(rows: Iterable[Sequence[object]]) -> tuple[Placement, ...]:
    names = Placement.__struct_fields__
    return tuple(convert(dict(zip(names, row, strict=True)), Placement) for row in rows)
