"""Names of the values that a release stores for the next one, and the place of a service."""

from fabric.model.problems import Problem
from fabric.model.records.record import Record
from fabric.providers.edge1.settings import read_version_account

ACCOUNT, GATE, PLACE, ADDRESS = "account", "gate", "place", "address"
# The zone that the last release made a route in.
ZONE = "zone"


def find_account_conflict(record: Record, account: str) -> Problem | None:
    """Return a problem if the record belongs to another account. A missing account is reported with
    the missing credentials."""
    noted = (read_version_account(one.resource_id) for one in record.functions)
    accounts = {dict(record.kept).get(ACCOUNT, ""), *noted} - {"", account}
    if not accounts or not account:
        return None
    then = min(accounts)
    message = (
        f"refusing to change {record.ref.title}: it is deployed in the account `{then}`, and "
        f"`EDGE1_ACCOUNT_ID` is `{account}`; nothing was changed"
    )
    hint = (
        f"set `EDGE1_ACCOUNT_ID` to `{then}`, or run `fabric remove` there before you deploy "
        "elsewhere"
    )
    return Problem("deploy/other-place", message, hint)
