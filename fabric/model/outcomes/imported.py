"""The result of `import`."""

from msgspec import field

from fabric.model.outcomes.json_struct import JsonStruct


class ImportedService(JsonStruct, frozen=True):
    """A service with its numbers of functions and triggers."""

    name: str
    functions: int
    triggers: int


class ImportNote(JsonStruct, frozen=True, kw_only=True):
    """A key that is not carried or dropped. `where` is file, line and column."""

    code: str
    path: str
    where: str
    reason: str
    hint: str = ""


class ChangedKey(JsonStruct, frozen=True, kw_only=True):
    """A key whose value or meaning changed. `from_` is the value in the source."""

    code: str
    path: str
    where: str
    from_: str = field(name="from")
    to: str
    reason: str


class ImportOutcome(JsonStruct, frozen=True, kw_only=True):
    """Each key of the source counts as carried, or is in one of the three lists."""

    source: str
    from_: str = field(name="from")
    written: tuple[str, ...]
    # Those of the written files that existed before.
    replaced: tuple[str, ...] = ()
    services: tuple[ImportedService, ...]
    carried: int
    changed: tuple[ChangedKey, ...]
    not_carried: tuple[ImportNote, ...] = ()
    dropped: tuple[ImportNote, ...] = ()
    # What `validate` and `plan` report about the result. `path` is empty.
    problems: tuple[ImportNote, ...] = ()
    dry_run: bool = False


class RowDifference(JsonStruct, frozen=True, kw_only=True):
    """A fact about a function that differs. The value of a missing one is empty."""

    function: str
    kind: str
    other: str
    fabric: str


class ArchiveDifference(JsonStruct, frozen=True, kw_only=True):
    """Files without code that only one of the two archives of a function contains."""

    function: str
    only_other: tuple[str, ...] = ()
    only_fabric: tuple[str, ...] = ()


class ComparisonOutcome(JsonStruct, frozen=True, kw_only=True):
    """A config of fabric against the template that the other tool generates."""

    source: str
    tool: str
    # The compared file of fabric. `isConverted`: it does not exist, and was converted for this.
    config: str
    is_converted: bool
    equal: int
    differences: tuple[RowDifference, ...]
    # They do not count as differences, because fabric packs only files that a function uses.
    archives: tuple[ArchiveDifference, ...] = ()
