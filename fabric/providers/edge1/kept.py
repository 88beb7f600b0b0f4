"""What the last release left for this one, and how far it can be taken for granted."""

from collections.abc import Iterable, Mapping

from msgspec import Struct

from fabric.model.problems import Problem
from fabric.model.records.record import DOUBT, Record
from fabric.providers.contract import DeploymentAddress
from fabric.providers.edge1.own_settings import account_in

ACCOUNT, GATE, PLACE, ADDRESS = "account", "gate", "place", "address"
# The zone that the last release made a route in.
ZONE = "zone"


class KeptTexts(Struct, frozen=True):
    """Only where `is_sure` does it say how things are now."""

    texts: Mapping[str, str]
    is_sure: bool = True

    def sure(self, name: str) -> str | None:
        """None where nobody knows."""
        return self.texts.get(name, "") if self.is_sure else None

    def of_functions(self, names: Iterable[str]) -> dict[str, str]:
        """All that is kept of these."""
        ends = tuple(f":{name}" for name in names)
        return {name: text for name, text in self.texts.items() if name.endswith(ends)}


def kept_texts(address: DeploymentAddress) -> KeptTexts:
    record = address.previous
    if record is None:
        return KeptTexts({})
    texts = {name: text for name, text in record.kept if name != DOUBT[0]}
    return KeptTexts(texts, DOUBT not in record.kept)


def other_account(record: Record, account: str) -> Problem | None:
    """Where nothing names an account, that is told with the credentials that are missing."""
    noted = (account_in(one.resource_id) for one in record.functions)
    accounts = {dict(record.kept).get(ACCOUNT, ""), *noted} - {"", account}
    if not accounts or not account:
        return None
    then = min(accounts)
    message = (
        f"{record.ref.title} lies in the account `{then}`, and `EDGE1_ACCOUNT_ID` is `{account}`: "
        "nothing was changed in either"
    )
    hint = (
        f"set `EDGE1_ACCOUNT_ID` to `{then}`; to move the service, `fabric remove` it there, and "
        "deploy it here then"
    )
    return Problem("deploy/other-place", message, hint)
