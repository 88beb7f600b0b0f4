"""Records to compare, keep and move: small, whole, and different where a test says so."""

from typing import Any

from msgspec.structs import replace

from fabric.model.hashing import hash_bytes
from fabric.model.records.endings import take_snapshot
from fabric.model.records.record import FunctionRecord, Lifecycle, Record, RecordRef

ARCHIVE = b"an archive"
SHA256 = hash_bytes(ARCHIVE)


def function(name: str = "hello", **changes: Any) -> FunctionRecord:
    one = FunctionRecord(name, key="k", artifact_sha256=SHA256, resource_name=f"shop-{name}")
    return replace(one, **changes)


def record(stage: str = "dev", provider: str = "cloud1-lambda", **changes: Any) -> Record:
    """Deployed once, with one function, and its own deployment as history."""
    made = Record(
        RecordRef("shop", stage, provider),
        provider_id="cloud1-lambda",
        lineage="1" * 32,
        salt="2" * 32,
        serial=4,
        fence=3,
        lifecycle=Lifecycle.DEPLOYED,
        deployment_id=f"{provider}-{stage}-1-abcdef",
        endpoint="https://shop.example",
        outputs=(("url", "https://shop.example"),),
        functions=(function(),),
        updated_at="2026-01-01T00:00:00.000Z",
    )
    made = replace(made, **changes)
    return replace(made, history=(take_snapshot(made),)) if "history" not in changes else made
