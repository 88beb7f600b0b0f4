"""Run a hook of a deploy or release. Never cached: it runs when a task that it belongs to runs."""

import json
from collections.abc import Callable, Iterator, Mapping

from fabric.graph.decide import UP_TO_DATE, Action, Decision, wait_for
from fabric.graph.plan import Known
from fabric.model.hashing import hash_fields
from fabric.model.names import StepEvent
from fabric.model.problems import Place
from fabric.model.records.record import Mode, RecordRef
from fabric.model.secrets.secret import Secret
from fabric.model.task import EntryKind, InputEntry, Output, Pairs, Task
from fabric.model.task_id import (
    TaskId,
    is_kind,
    parse_task_kind,
    passes_output,
    remove_target_suffix,
)
from fabric.model.task_inputs import INPUTS_BY_KIND, HookInputs
from fabric.tasks.contract import TaskResult, TaskTools, place_problems, require_inputs
from fabric.tasks.deploy import list_output_hashes
from fabric.tasks.deploy_tools import PlacedKind, get_record_ref

_VERSION = "1"
_BEFORE = (StepEvent.BEFORE_DEPLOY, StepEvent.BEFORE_RELEASE)
_DONE = Output(hash_fields(("hook",)))
_SIMULATED = "not run, because the deploy is simulated (`simulated: true` runs it)"


class HookKind:
    """`kinds` are those of deploy and release tasks, `env` are the caller's variables. The values
    of `hide` are never printed."""

    def __init__(
        self,
        kinds: Mapping[str, PlacedKind],
        lock_record: Callable[[RecordRef], object],
        env: Mapping[str, str],
        hide: Callable[[RecordRef], Secret[frozenset[str]]],
    ) -> None:
        self._kinds = kinds
        self._lock_record = lock_record
        self._env = env
        self._hide = hide

    def code(self, task: Task) -> tuple[InputEntry, ...]:
        del task
        return (InputEntry(EntryKind.CODE, "hook", _VERSION),)

    def judge(self, known: Known) -> Decision:
        inputs = require_inputs(known.task, HookInputs)
        count = len(inputs.entries())
        if known.upstream is None:
            return wait_for(known.unknown, count)
        return self._judge_hooked(inputs, known.upstream, count)

    def _judge_hooked(self, inputs: HookInputs, upstream: Pairs, count: int) -> Decision:
        if inputs.event in _BEFORE:
            decisions = [*self._list_decisions(inputs, upstream)]
        else:
            ran = (task for task, _, _ in inputs.hooked if self._kind_of(task).has_run(task))
            decisions = [Decision(Action.RUN, f"{task} succeeded") for task in ran]
        for action in (Action.RUN, Action.WAIT):
            for one in decisions:
                if one.action is action:
                    key = hash_fields(part for entry in inputs.entries() for part in entry)
                    return Decision(action, one.reason, key, count)
        return Decision(Action.SKIP, UP_TO_DATE, inputs=count, known=_DONE)

    def _list_decisions(self, inputs: HookInputs, upstream: Pairs) -> Iterator[Decision]:
        """Decide the tasks that the hook comes before. One whose needs failed does not run."""
        digests = dict(upstream)
        for task_id, needs, values in inputs.hooked:
            kind = parse_task_kind(task_id)
            task = Task(TaskId(task_id), INPUTS_BY_KIND[kind](*values), tuple(map(TaskId, needs)))
            names = [remove_target_suffix(one) for one in task.needs if passes_output(one, kind)]
            if all(name in digests for name in names):
                pairs = tuple(sorted((name, digests[name]) for name in names))
                yield self._kinds[kind].judge(Known(task, self._kinds[kind].code(task), pairs))

    def _kind_of(self, task_id: str) -> PlacedKind:
        return self._kinds[parse_task_kind(task_id)]

    def claim(self, task: Task) -> None:
        """Lock the record, so that a hook before a deploy never runs beside another deploy."""
        self._lock_record(get_record_ref(task.inputs))

    def run(
        self, task: Task, upstream: Mapping[TaskId, Output], task_tools: TaskTools
    ) -> TaskResult:
        from fabric.providers.core.redaction import build_redaction
        from fabric.runtimes.commands.before import build_hook_variables, run_command
        from fabric.system.files.owned_folder import create_temporary_folder

        inputs = require_inputs(task, HookInputs)
        # Another user or process can have deployed before this run got the lock.
        again = self._judge_hooked(inputs, list_output_hashes(upstream), 0)
        if inputs.mode == Mode.SIMULATED and not inputs.simulated:
            task_tools.say(task.id, _SIMULATED)
        elif again.action is Action.RUN:
            task_tools.go_on()
            env = build_hook_variables(self._env, inputs, _list_outputs(upstream))
            redaction = build_redaction(self._hide(get_record_ref(inputs)).reveal(), env.items())
            with task_tools.away(), create_temporary_folder("hook") as folder:
                root = task_tools.workspace / inputs.root
                with place_problems(Place(*inputs.place)):
                    output = run_command(inputs, root, folder, env, redaction.text)
                task_tools.say(task.id, output.text())
        return TaskResult(_DONE.digest, keep=False)


def _list_outputs(upstream: Mapping[TaskId, Output]) -> Pairs:
    """List the variables of a released service."""
    for owner, output in upstream.items():
        if is_kind(owner, "release") and output.facts:
            texts = json.dumps(dict(output.facts), sort_keys=True)
            return ("FABRIC_ENDPOINT", output.fact("endpoint")), ("FABRIC_OUTPUTS", texts)
    return ()
