"""The facts of every kind of state backend, one row each.

A new kind needs a row here, a file in `state/backends`, and the function that opens it.
"""

from enum import StrEnum

from msgspec import Struct


class BackendKind(StrEnum):
    LOCAL = "local"
    SQL = "sql"
    OBJSTORE1 = "objstore1"
    OBJSTORE2 = "objstore2"
    OBJSTORE3 = "objstore3"


class BackEndClient(Struct, frozen=True):
    """How a client connects. Its variables begin with `prefixes` or a shared prefix."""

    # Names the variable with its address.
    address_setting: str = ""
    prefixes: tuple[str, ...] = ()
    shared_prefixes: tuple[str, ...] = ()
    # Alternatives, each with all its variables.
    credentials: tuple[tuple[str, ...], ...] = ()
    # Names another service address.
    endpoint: str = ""


class BackEndFacts(Struct, frozen=True):
    """The facts of a kind; by default it has none of these properties.

    `settings` are its keys below `backend`, `needed` the required one.
    """

    kind: str
    settings: tuple[str, ...] = ()
    needed: str = ""
    defaults: tuple[tuple[str, str], ...] = ()
    client: BackEndClient = BackEndClient()
    # It is in the project's `.fabric`, read by this machine only.
    is_own_folder: bool = False
    # Conditional writes are reliable without a test.
    keeps_conditions: bool = False
    # Optional packages that its client imports; those of a database hang on its address.
    packages: tuple[str, ...] = ()


BACK_ENDS: tuple[BackEndFacts, ...] = (
    BackEndFacts(BackendKind.LOCAL, is_own_folder=True, keeps_conditions=True),
    BackEndFacts(
        BackendKind.SQL,
        settings=("sqlConnectionStringEnv", "sqlTable"),
        defaults=(
            ("sqlConnectionStringEnv", "FABRIC_STATE_SQL_URL"),
            ("sqlTable", "fabric_state"),
        ),
        keeps_conditions=True,
        client=BackEndClient(
            address_setting="sqlConnectionStringEnv", credentials=(("FABRIC_STATE_SQL_URL",),)
        ),
    ),
    BackEndFacts(
        BackendKind.OBJSTORE1,
        settings=("objstore1Bucket", "objstore1Prefix", "lockTable"),
        needed="objstore1Bucket",
        packages=("boto3",),
        client=BackEndClient(
            prefixes=("OBJSTORE1_",),
            shared_prefixes=("AWS_",),
            credentials=(("CLOUD1_ACCESS_KEY_ID", "CLOUD1_SECRET_ACCESS_KEY", "CLOUD1_REGION"),),
            endpoint="OBJSTORE1_ENDPOINT_URL",
        ),
    ),
    BackEndFacts(
        BackendKind.OBJSTORE2,
        settings=("objstore2Bucket", "objstore2Prefix"),
        needed="objstore2Bucket",
        packages=("httpx",),
        client=BackEndClient(
            prefixes=("OBJSTORE2_",),
            credentials=(("OBJSTORE2_CREDENTIALS_FILE",), ("OBJSTORE2_ACCESS_TOKEN",)),
            endpoint="OBJSTORE2_ENDPOINT_URL",
        ),
    ),
    BackEndFacts(
        BackendKind.OBJSTORE3,
        settings=("objstore3Container", "objstore3Prefix"),
        needed="objstore3Container",
        packages=("httpx",),
        client=BackEndClient(
            prefixes=("OBJSTORE3_",),
            credentials=(
                ("OBJSTORE3_CONNECTION_STRING",),
                ("OBJSTORE3_ACCOUNT", "OBJSTORE3_KEY"),
            ),
            endpoint="OBJSTORE3_ENDPOINT_URL",
        ),
    ),
)
_BY_KIND = {facts.kind: facts for facts in BACK_ENDS}


def back_end_facts(kind: str) -> BackEndFacts:
    return _BY_KIND.get(kind) or BackEndFacts(kind)


def is_store_variable(kind: str, name: str) -> bool:
    """Return whether a store of that kind reads the variable."""
    facts = back_end_facts(kind)
    return name.startswith((*facts.client.prefixes, *facts.client.shared_prefixes))


def is_of_other_back_end(kind: str, name: str) -> bool:
    """Return whether only stores of another kind read the variable."""
    return any(one.kind != kind and name.startswith(one.client.prefixes) for one in BACK_ENDS)
