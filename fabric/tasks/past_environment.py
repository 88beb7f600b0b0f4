"""The environment of a function from an earlier deployment, for its restore."""

from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from fabric.graph.judge import hash_declared_values
from fabric.graph.past_values import (
    KnownValues,
    PastValues,
    fill_past_addresses,
    recover_past_values,
)
from fabric.model.hashing import hash_fields
from fabric.model.late_values import fill_placeholders
from fabric.model.ownership_tags import mark_of
from fabric.model.problems import ConfigSpot, FabricError, Problem
from fabric.model.records.record import (
    FunctionRecord,
    Mode,
    OpenedValues,
    Record,
    RecordRef,
    ValueOwner,
)
from fabric.model.secrets.secret import Secret
from fabric.model.secrets.state_key import STATE_KEY_VARIABLE
from fabric.model.task import Pairs
from fabric.providers.core.contract import VersionFinder
from fabric.tasks.deploy_tools import DeployTools

_TODAY = "set the old values, or add --with-current-environment"
_CURRENT = "check the secret at AWS, or add --with-current-environment to use current values"
_BACK = "add the function to the config again, with its old values"
_KEEP = f"set {STATE_KEY_VARIABLE} to store encrypted values at later deploys"


class PastFunction(Struct, frozen=True):
    """A function from a record."""

    ref: RecordRef
    record: FunctionRecord
    # The record's.
    salt: str

    @property
    def title(self) -> str:
        return f"`{self.ref.service}/{self.record.name}`"

    def owner(self, environment_sha256: str) -> ValueOwner:
        return ValueOwner(self.ref, self.record.name, self.salt, environment_sha256)

    def open_values(self, tools: DeployTools) -> OpenedValues:
        one = self.record
        return tools.kept_values.open_values(self.owner(one.environment_sha256), one.sealed_values)


class PastEnvironment:
    """The known old variables of one function. Current values, if allowed, override stored ones."""

    def __init__(self, tools: DeployTools, past: PastFunction) -> None:
        self._tools, self._past = tools, past
        today = tools.values.values(past.ref, past.record.name)
        self._is_configured = today.is_configured
        self._opened = past.open_values(tools)
        here = {name for name, _ in today.declared.reveal()} if tools.takes_today else set()
        kept = (pair for pair in self._opened.values.reveal() if pair[0] not in here)
        addresses = tools.values.addresses(past.ref)
        self._known = KnownValues(
            today=today.declared,
            plain=today.declared_plain,
            kept=Secret(tuple(kept)),
            addresses=addresses,
            has_versions=not tools.takes_today,
        )
        self.values: PastValues = recover_past_values(past.record, self._known, past.salt)

    @property
    def function(self) -> str:
        return self._past.record.name

    @property
    def problem(self) -> Problem | None:
        """Return why the function cannot be restored: its environment would be incomplete."""
        if not self.values.lost or (self._tools.takes_today and self._is_configured):
            return None
        hint = _TODAY if self._is_configured else _BACK
        hint = hint if self._opened.why_not else f"{hint}; {_KEEP}"
        return Problem(
            "rollback/environment", f"{self._name_function()}{self._explain_missing()}", hint
        )

    def _name_function(self) -> str:
        title, lost = self._past.title, ", ".join(self.values.lost)
        if not self._is_configured:
            return f"the config no longer contains {title}, so the values of {lost} are not known"
        other, unknown = (", ".join(names) for names in (self.values.other, self.values.unknown))
        had = f"the old deployment had other values for {other}" if other else ""
        gone = f"the config no longer sets {unknown}" if unknown else ""
        return f"{title}: {' and '.join(text for text in (had, gone) if text)}"

    def _explain_missing(self) -> str:
        """Explain the missing values; empty if no value storage was configured."""
        why = self._opened.why_not
        if why:
            return f"; its values are stored, but {why}"
        return "; values were not stored" if self._is_configured else ""

    @property
    def left_out(self) -> Problem | None:
        """Return the variables that are lost in a restore."""
        names = self.values.unknown
        if not names or self.problem:
            return None
        without = f"{self._past.title} is restored without {', '.join(names)}"
        message = f"{without}, which the config no longer sets"
        return Problem("rollback/left-out", message)

    def build_environment(self) -> Secret[Pairs]:
        """Return the environment to deploy. Raises if it would differ from the old one."""
        if self.problem:
            raise FabricError(self.problem)
        env = fill_past_addresses(self._get_declared_values(), self._known.addresses)
        secrets = self._read_secrets(tuple(text for _, text in env))
        return Secret(
            tuple((name, fill_placeholders(text, secrets.reveal())) for name, text in env)
        )

    def _read_secrets(self, texts: Sequence[str]) -> Secret[dict[str, str]]:
        try:
            return self._tools.values.secrets(self._past.ref, texts)
        except FabricError as error:
            hint = _CURRENT if self._is_configured else _BACK
            raise FabricError(*(self._place(one, hint) for one in error.problems)) from error

    def _place(self, one: Problem, hint: str) -> Problem:
        is_missing = one.code == "config/unresolved-reference"
        return replace(one, hint=hint if is_missing else one.hint, about=ConfigSpot(self.function))

    def build_record(self) -> FunctionRecord:
        """Return the function record. With other values than before, its key is changed."""
        if not self.values.lost:
            return self._past.record
        declared = self._get_declared_values()
        today = hash_declared_values(declared, self._past.salt)
        whole = hash_fields(part for pair in today for part in pair)
        return replace(
            self._past.record,
            # Under a key of its own: its mark at the provider follows from that.
            key=hash_fields(("restored", self._past.record.key, whole)),
            environment=today,
            environment_sha256=whole,
            sealed_values=self._tools.kept_values.seal(self._past.owner(whole), declared),
        )

    def _get_declared_values(self) -> Pairs:
        today = dict(self._known.today.reveal())
        others = {name: today[name] for name in self.values.other}
        return tuple(sorted({**others, **dict(self.values.same.reveal())}.items()))


# Versions that the provider keeps with their environment, for values that fabric does not know.


def has_kept_versions(tools: DeployTools, record: Record) -> bool:
    """Return whether the provider keeps the deployed version for a later restore."""
    if record.mode is not Mode.REAL:
        return False
    return isinstance(tools.deployers.deployer(record.ref, record.mode), VersionFinder)


def list_past_environments(
    tools: DeployTools, record: Record, functions: Sequence[FunctionRecord]
) -> list[PastEnvironment]:
    """List the environments of functions whose values are needed. Unchanged functions are
    skipped."""
    kept = find_versions_to_restore(tools, record, functions)
    return [
        _build_past_environment(tools, record, one) for one in functions if one.name not in kept
    ]


def find_versions_to_restore(
    tools: DeployTools, record: Record, functions: Sequence[FunctionRecord]
) -> Mapping[str, str]:
    """Find kept versions by function. Queries the provider once, and only for unknown values.

    Deleted versions are omitted.
    """
    if record.mode is not Mode.REAL:
        return {}
    lost = [
        one for one in functions if one.key and _build_past_environment(tools, record, one).problem
    ]
    if not lost:
        return {}
    deployer = tools.deployers.deployer(record.ref, record.mode)
    if not isinstance(deployer, VersionFinder):
        return {}
    address = replace(tools.deployers.full_address(record.ref), previous=record)
    marks = {one.name: mark_of(one.key, record.salt) for one in lost}
    return deployer.find_versions(address, marks)


def _build_past_environment(
    tools: DeployTools, record: Record, one: FunctionRecord
) -> PastEnvironment:
    return PastEnvironment(tools, PastFunction(record.ref, one, record.salt))
