"""Which deployed function is meant, by the receipt or the records of other machines."""

from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct, convert

from fabric.app.project.opened import Project
from fabric.app.project.place_services import build_placement
from fabric.app.records.backends import BackEnds
from fabric.app.request import Request
from fabric.app.settings import Settings
from fabric.model.catalog import format_provider_title
from fabric.model.problems import FabricError, Place, Problem
from fabric.model.records.receipt import (
    Receipt,
    ReceiptEntry,
    ReceiptFunction,
    decode_record_receipt,
)
from fabric.model.text.spelling import find_nearest
from fabric.state.records.receipts import build_receipt_path, read_document
from fabric.state.records.transaction import read_unlocked
from fabric.system.schemas import find_misfits, format_misfits


class Called(Struct, frozen=True):
    """A function as a receipt has it, and the deployment that it belongs to."""

    entry: ReceiptEntry
    function: ReceiptFunction

    @property
    def name(self) -> str:
        return self.function.name

    @property
    def url(self) -> str:
        """The function's URL: its own, or that of its service plus its path. Empty without HTTP."""
        own = self.entry.outputs.get(f"url_{self.name}") or self.function.endpoint
        if own or self._http is None or not self.entry.endpoint:
            return own
        path = str(self._http.get("path") or "/")
        return f"{self.entry.endpoint.rstrip('/')}/{path.lstrip('/')}"

    @property
    def method(self) -> str:
        said = str((self._http or {}).get("method") or "POST").upper()
        return "POST" if said == "ANY" else said

    @property
    def _http(self) -> Mapping[str, object] | None:
        triggers = (one for one in self.function.triggers if isinstance(one, dict))
        return next((one for one in triggers if one.get("type") == "http"), None)


def list_deployed_entries(
    home: Path, stage: str, project: Project | None, settings: Settings
) -> list[ReceiptEntry]:
    """List the entries from the receipt. With shared state, a machine can have no receipt yet."""
    receipt = find_receipt(build_receipt_path(home, stage))
    if receipt.deployments:
        return receipt.deployments
    recorded = _list_recorded_entries(project, settings) if project else []
    if receipt.damage and not recorded:
        raise FabricError(receipt.damage)
    return recorded


def _list_recorded_entries(project: Project, settings: Settings) -> list[ReceiptEntry]:
    """List the entries from shared backends."""
    placements = [build_placement(unit, project.workspace, project.home) for unit in project.units]
    back_ends = BackEnds(settings)
    try:
        remote = [placement for placement in placements if not placement.is_own_folder]
        records = [
            read_unlocked(back_ends.record_store(placement), placement.ref) for placement in remote
        ]
    finally:
        back_ends.close()
    return [decode_record_receipt(record) for record in records if record]


def select_project_entries(
    entries: list[ReceiptEntry], project: Project | None, provider: str
) -> list[ReceiptEntry]:
    """Select this service's entries, because several services can share a receipt.

    The provider that the config names comes first.
    """
    if project is None:
        return entries
    own = {unit.service: unit.config.provider.label for unit in project.units}
    found = [one for one in entries if one.service in own]
    named = [one for one in found if own[one.service] == one.provider]
    return named if named and not provider else found


def select_called_function(entries: list[ReceiptEntry], request: Request, stage: str) -> Called:
    provider = request.where.provider
    found = [
        Called(entry, function)
        for entry in entries
        if provider in ("", entry.provider)
        for function in entry.functions
    ]
    if not found:
        hint = "run: fabric deploy, or `fabric state reconcile --fix` if it is deployed"
        on = f" on {format_provider_title(provider)}" if provider else ""
        message = f"no deployment receipt found for stage `{stage}`{on}"
        raise FabricError(Problem("invoke/not-deployed", message, hint))
    asked = next(iter(request.functions), "")
    chosen = [one for one in found if asked in ("", one.name)]
    if not chosen:
        raise FabricError(_unknown_function_problem(asked, [one.name for one in found], stage))
    if asked and len(chosen) > 1:
        places = ", ".join(sorted(one.entry.provider for one in chosen))
        hint = f"set --provider to one of {places}"
        raise FabricError(
            Problem(
                "usage/no-provider",
                "missing option --provider: more than one deployment found",
                hint,
            )
        )
    if not asked and len(chosen) > 1:
        names = ", ".join(sorted({one.name for one in chosen}))
        raise FabricError(
            Problem(
                "usage/no-function",
                "missing option --function",
                f"set --function to one of {names}",
            )
        )
    return chosen[0]


def _unknown_function_problem(asked: str, known: list[str], stage: str) -> Problem:
    guess = find_nearest(asked, known)
    hint = f"did you mean `{guess}`?" if guess else f"use one of {', '.join(sorted(known))}"
    message = f"function `{asked}` is not deployed in stage `{stage}`"
    return Problem("invoke/not-deployed", message, hint)


class FoundReceipt(Struct, frozen=True):
    """A receipt."""

    deployments: list[ReceiptEntry]
    # Explains why an existing receipt could not be read.
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
