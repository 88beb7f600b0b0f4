"""The environment that a function of an earlier deployment is given when it comes back."""

from msgspec.structs import replace

from fabric.graph.judge import keyed_values
from fabric.graph.past_values import KnownValues, PastValues, filled_past, past_values
from fabric.model.hashing import digest_fields
from fabric.model.problems import FabricError, Problem
from fabric.model.records.record import FunctionRecord, RecordRef
from fabric.model.secret import Secret
from fabric.model.task import Pairs
from fabric.tasks.deploy_tools import DeployTools

_IN_CONFIG = "set them as they were, or take today's with --with-current-environment"
_NOT_IN_CONFIG = "put the function back into the config, with its values of then"


class PastEnvironment:
    """One function, looked at with what is known today. Where today's values are
    taken, they go before those of then."""

    def __init__(self, tools: DeployTools, ref: RecordRef, one: FunctionRecord, salt: str) -> None:
        self._one, self._ref, self._salt = one, ref, salt
        self._takes_today = tools.takes_today
        values = tools.values.values(ref, one.name)
        self._known = KnownValues(
            today=values.declared,
            addresses=tools.values.addresses(ref),
            is_configured=values.is_configured,
        )
        self.values: PastValues = past_values(one, self._known, salt)

    @property
    def problem(self) -> Problem | None:
        """What forbids that it comes back; half an environment is none."""
        lost = self.values.lost
        if not lost or (self._takes_today and self._known.is_configured):
            return None
        name = f"`{self._ref.service}/{self._one.name}`"
        if self._known.is_configured:
            return Problem("rollback/environment", f"{name}: {self._why()}", _IN_CONFIG)
        values = f"the value{'s' if len(lost) > 1 else ''} of {', '.join(lost)}"
        verb = "are" if len(lost) > 1 else "is"
        message = f"the config no longer names {name}, so {values} {verb} not known"
        return Problem("rollback/environment", message, _NOT_IN_CONFIG)

    def _why(self) -> str:
        other, unknown = (", ".join(names) for names in (self.values.other, self.values.unknown))
        had = f"{other} had other values then, and values are not kept" if other else ""
        gone = f"{unknown} is not given any more, and values are not kept" if unknown else ""
        return "; ".join(text for text in (had, gone) if text)

    @property
    def left_out(self) -> Problem | None:
        """What it comes back without, though it had it."""
        names = self.values.unknown
        if not names or self.problem:
            return None
        function, without = f"`{self._ref.service}/{self._one.name}`", ", ".join(names)
        message = f"{function} comes back without {without}: the config does not give it any more"
        return Problem("rollback/left-out", message)

    def given(self) -> Secret[Pairs]:
        """What the function is handed; raises where that would not be what it had."""
        if self.problem:
            raise FabricError(self.problem)
        return Secret(filled_past(self._declared(), self._known.addresses))

    def recorded(self) -> FunctionRecord:
        """With other values than it had then, it is not what its key says."""
        if not self.values.lost:
            return self._one
        today = keyed_values(self._declared(), self._salt)
        whole = digest_fields(part for pair in today for part in pair)
        return replace(self._one, key="", environment=today, environment_sha256=whole)

    def _declared(self) -> Pairs:
        today = dict(self._known.today.reveal())
        others = {name: today[name] for name in self.values.other}
        return tuple(sorted({**others, **dict(self.values.same.reveal())}.items()))
