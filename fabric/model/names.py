"""The words of the domain: ids that must not be mixed up."""

from typing import NewType

ServiceName = NewType("ServiceName", str)
FunctionName = NewType("FunctionName", str)
TaskId = NewType("TaskId", str)
Digest = NewType("Digest", str)
