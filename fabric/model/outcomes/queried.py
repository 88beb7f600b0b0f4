"""Results of small queries."""

from collections.abc import Mapping
from typing import ClassVar

from fabric.model.outcomes.json_struct import Json, JsonObject, JsonStruct


class DocumentOutcome(JsonStruct, frozen=True):
    """A requested text of fabric, such as a schema or a help page, and its JSON form."""

    document: Mapping[str, object]
    words: str


class ValidService(JsonStruct, frozen=True):
    name: str
    config: str
    functions: tuple[str, ...]


class ValidOutcome(JsonStruct, frozen=True):
    stage: str
    services: tuple[ValidService, ...]


class ConfigOutcome(JsonStruct, frozen=True):
    """`config` is the document with no secret in it."""

    service: str
    stage: str
    config: object


class ListedService(JsonStruct, frozen=True):
    name: str
    config: str
    depends_on: tuple[str, ...]


class ServicesOutcome(JsonStruct, frozen=True):
    services: tuple[ListedService, ...]


class InvokeOutcome(JsonStruct, frozen=True):
    function: str
    provider: str
    simulated: bool
    response: Json
    logs: str
    ms: int
    # Differences from the provider. In JSON only if there are any.
    warnings: tuple[JsonObject, ...] = ()


class ExecutionOutcome(JsonStruct, frozen=True):
    """An execution of a workflow. Without a status it was started only."""

    workflow: str
    provider: str
    execution: str
    status: str
    output: Json
    error: str
    cause: str


class ServedOutcome(JsonStruct, frozen=True):
    """The result of a server that was stopped."""

    url: str
    calls: int
    failed: int


class StreamedOutcome(JsonStruct, frozen=True):
    """The result of serving a deployed stage locally.

    Another process changed the routes of `left_alone` meanwhile.
    """

    stage: str
    tunnel: str
    url: str
    # Diverted.
    routes: tuple[str, ...]
    left_alone: tuple[str, ...]
    calls: int
    failed: int


class RestoredService(JsonStruct, frozen=True):
    """A service whose routes point to the cloud again."""

    service: str
    provider: str
    left_alone: tuple[str, ...]


class RestoredOutcome(JsonStruct, frozen=True):
    stage: str
    services: tuple[RestoredService, ...]


class PresetCall(JsonStruct, frozen=True):
    """One call with a sample event. For queue batches: retried and completed messages.

    Also the reason if the platform handles the result differently from the intent.
    """

    function: str
    preset: str
    response: Json
    error: str
    logs: str
    ms: int
    messages_back: tuple[str, ...] = ()
    messages_done: tuple[str, ...] = ()
    batch_note: str = ""


class DevOutcome(JsonStruct, frozen=True):
    """The last round of calls, and the differences from the provider, in JSON only if there are
    any."""

    calls: tuple[PresetCall, ...]
    warnings: tuple[JsonObject, ...] = ()


class CheckRow(JsonStruct, frozen=True):
    name: str
    ok: bool
    severity: str
    message: str
    fix: str


class DoctorOutcome(JsonStruct, frozen=True):
    service: str
    stage: str
    checks: tuple[CheckRow, ...]


class PastRun(JsonStruct, frozen=True):
    id: str
    command: str
    stage: str
    started_at: str
    status: str
    ran: int
    skipped: int
    failed: int
    ms: int


class RunsOutcome(JsonStruct, frozen=True):
    runs: tuple[PastRun, ...]


class RunOutcome(JsonStruct, frozen=True):
    only_in_words: ClassVar[frozenset[str]] = frozenset({"summary"})

    run: str
    events: tuple[JsonObject, ...]
    summary: PastRun


class CacheStatsOutcome(JsonStruct, frozen=True):
    folder: str
    records: int
    blobs: int
    bytes: int


class CacheStatusOutcome(JsonStruct, frozen=True):
    """The status of the shared cache."""

    configured: bool = False
    place: str = ""
    scope: str = ""
    reads: bool = False
    writes: bool = False
    segments: int = 0
    tasks: int = 0
    # The query time.
    ms: int = 0


class CacheVerifyOutcome(JsonStruct, frozen=True):
    folder: str
    checked: int
    removed: int


class CachePruneOutcome(JsonStruct, frozen=True):
    folder: str
    removed: int
    freed_bytes: int
    kept_bytes: int
