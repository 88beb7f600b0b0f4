"""Tasks that change the world, with the places in the config that their failures are about."""

from collections.abc import Mapping

from fabric.graph.decide import Decision
from fabric.graph.plan import Known
from fabric.model.problems import FabricError, UntouchedError, replace_problems
from fabric.model.task import InputEntry, Output, Task
from fabric.model.task_id import TaskId
from fabric.tasks.contract import RecordKind, TaskResult, TaskTools
from fabric.tasks.deploy import get_record_ref
from fabric.tasks.deploy_tools import PlacesInConfigs


class PlacedKind:
    """Any task kind that calls providers."""

    def __init__(self, kind: RecordKind, places: PlacesInConfigs) -> None:
        self._kind = kind
        self._places = places

    def code(self, task: Task) -> tuple[InputEntry, ...]:
        return self._kind.code(task)

    def judge(self, known: Known) -> Decision:
        return self._kind.judge(known)

    def claim(self, task: Task) -> None:
        self._kind.claim(task)

    def run(
        self, task: Task, upstream: Mapping[TaskId, Output], task_tools: TaskTools
    ) -> TaskResult:
        try:
            return self._kind.run(task, upstream, task_tools)
        except FabricError as error:
            # Whatever else it is says how the run ended, and not what was wrong.
            if type(error) not in (FabricError, UntouchedError):
                raise
            function = task.inputs.function
            placed = self._places.add_places(get_record_ref(task.inputs), function, error.problems)
            raise replace_problems(error, placed) from error
