"""Read receipts, which people and scripts can have edited."""

from pathlib import Path

from msgspec import Struct, convert

from fabric.model.problems import Place, Problem
from fabric.model.records.receipt import Receipt, ReceiptEntry
from fabric.state.records.receipts import read_document
from fabric.system.schemas import find_misfits, format_misfits


class FoundReceipt(Struct, frozen=True):
    """A receipt. `damage` explains why an existing receipt could not be read."""

    deployments: list[ReceiptEntry]
    damage: Problem | None = None


def find_receipt(path: Path) -> FoundReceipt:
    document = read_document(path)
    if document is None:
        return FoundReceipt(
            [], _bad_receipt_problem(path, "not valid JSON") if path.exists() else None
        )
    wrong = find_misfits("receipt", document)
    if wrong:
        return FoundReceipt([], _bad_receipt_problem(path, format_misfits(wrong)))
    return FoundReceipt(convert(document, Receipt).deployments)


def _bad_receipt_problem(path: Path, why: str) -> Problem:
    return Problem(
        "invoke/not-deployed",
        f"the receipt `{path.name}` is damaged: {why}",
        hint="run: fabric state reconcile --fix, to re-create it from the state",
        where=Place(str(path)),
    )
