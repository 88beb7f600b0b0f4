"""Wait for new pods until all are ready, or until one reports a permanent failure."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from fabric.model.problems import ConfigSpot, FabricError, Problem
from fabric.providers.cluster.applying import ClusterWork
from fabric.providers.cluster.objects import (
    FUNCTION,
    MARK,
    KubeObject,
    count_at,
    format_selector,
    group_by_key,
    read_rows_at,
    read_text_at,
    read_texts_at,
)
from fabric.providers.core.retry import poll_until

_KINDS = "deployments,pods"
_LINES = 20
_AT_ONCE = frozenset(
    (
        *("ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull"),
        *("CreateContainerConfigError", "CreateContainerError", "RunContainerError"),
    )
)
_CRASHED = "CrashLoopBackOff"
_CRASHES = 2
_ERROR = re.compile(r"(?:Uncaught )?[\w.]*(?:Error|Exception)\b")


class _Rolling(Struct, frozen=True):
    """The state of a rollout at one poll."""

    ready: int
    wanted: int
    problems: tuple[Problem, ...] = ()

    @property
    def is_done(self) -> bool:
        return self.ready >= self.wanted


class _RolloutTalk:
    """Progress output that reports each state once."""

    def __init__(self, work: ClusterWork) -> None:
        self._work = work
        self._said = ""

    def tell(self, seen: _Rolling) -> None:
        text = f"rollout: {seen.ready} of {seen.wanted} pods ready"
        if text != self._said:
            self._said = text
            self._work.scope.watch.hear(text)


def wait_for_rollout(work: ClusterWork, names: Sequence[str]) -> None:
    """Wait for the Deployments `names`, each as `Kind/name`."""
    teller = _RolloutTalk(work)
    last: list[_Rolling] = []

    def look() -> bool | None:
        things = work.tool.list_objects(format_selector(work.address), _KINDS)
        seen = _read_rollout(work, names, [one for one in things if work.is_ours(one)])
        if seen.problems:
            raise FabricError(*seen.problems)
        teller.tell(seen)
        last[:] = [seen]
        return True if seen.is_done else None

    if poll_until(look, work.scope.waiting, work.scope.watch) is None:
        raise FabricError(_rollout_timeout_problem(work, last[-1]))


def _read_rollout(
    work: ClusterWork, names: Sequence[str], things: Sequence[KubeObject]
) -> _Rolling:
    found = group_by_key(things)
    deployments = [found[name] for name in names if name in found]
    gone = [name for name in names if name not in found]
    pods = [one for one in things if read_text_at(one, "kind") == "Pod"]
    problems = [
        *(_missing_object_problem(name) for name in gone),
        *(one for deployment in deployments for one in _find_deployment_problems(deployment)),
        *_find_pod_problems(work, deployments, pods),
    ]
    return _Rolling(
        sum(map(_count_ready_pods, deployments)),
        sum(map(_count_wanted_pods, deployments)),
        tuple(problems),
    )


def is_rolled_out(deployment: KubeObject) -> bool:
    return _count_ready_pods(deployment) >= _count_wanted_pods(deployment) and _is_observed(
        deployment
    )


def _count_wanted_pods(deployment: KubeObject) -> int:
    """Count the wanted pods, one more than exist until the cluster has processed the new spec."""
    wanted = count_at(deployment, "spec", "replicas")
    return wanted if _is_observed(deployment) else wanted or 1


def _is_observed(deployment: KubeObject) -> bool:
    seen = count_at(deployment, "status", "observedGeneration")
    return seen >= count_at(deployment, "metadata", "generation")


def _count_ready_pods(deployment: KubeObject) -> int:
    """Count new available pods. The last one counts only when the old ones are deleted."""
    if not _is_observed(deployment):
        return 0
    status = ("updatedReplicas", "availableReplicas", "replicas")
    updated, available, every = (count_at(deployment, "status", one) for one in status)
    old = max(0, every - updated)
    return max(0, min(updated, available - old) - (1 if old else 0))


def _find_deployment_problems(deployment: KubeObject) -> Iterator[Problem]:
    """Find reasons for pods that cannot be created, such as a quota or an admission rule."""
    for row in read_rows_at(deployment, "status", "conditions"):
        if read_text_at(row, "type") == "ReplicaFailure" and read_text_at(row, "status") == "True":
            why = read_text_at(row, "message")
            message = f"{_describe_owner(deployment)}: Kubernetes cannot create a pod: {why}"
            hint = "check the quota and policies of the namespace"
            yield Problem(
                "deploy/rollout", message, hint, about=ConfigSpot(_read_function(deployment))
            )


def _find_pod_problems(
    work: ClusterWork, deployments: Iterable[KubeObject], pods: Iterable[KubeObject]
) -> Iterator[Problem]:
    """Find the first failing up-to-date pod of each function."""
    marks = {
        _read_function(one): read_texts_at(one, "metadata", "annotations").get(MARK)
        for one in deployments
    }
    told: set[str] = set()
    for pod in pods:
        function = _read_function(pod)
        mark = read_texts_at(pod, "metadata", "annotations").get(MARK, "")
        if function in told or marks.get(function) != mark:
            continue
        for status in read_rows_at(pod, "status", "containerStatuses"):
            problem = _find_container_problem(work, pod, status)
            if problem is not None:
                told.add(function)
                yield problem


def _find_container_problem(
    work: ClusterWork, pod: KubeObject, status: Mapping[str, object]
) -> Problem | None:
    reason = read_text_at(status, "state", "waiting", "reason")
    why = read_text_at(status, "state", "waiting", "message")
    has_crashed = reason == _CRASHED and count_at(status, "restartCount") >= _CRASHES
    if reason not in _AT_ONCE and not has_crashed:
        return None
    container = read_text_at(status, "name")
    frame = _log(work, read_text_at(pod, "metadata", "name"), container) if has_crashed else ""
    words = _find_error_line(frame) if frame else why
    message = f"{_describe_owner(pod)} does not start, {reason}: {words}".rstrip(": ")
    hints = _HINTS if _read_function(pod) else _GATE_HINTS
    hint, spot = hints.get(reason, _BY_HAND), ConfigSpot(_read_function(pod))
    return Problem("deploy/rollout", message, hint, frame=frame, about=spot)


def _find_error_line(log: str) -> str:
    """Return the line that names an error, which a stack trace can follow, otherwise the last
    line."""
    lines = [one.strip() for one in log.splitlines()]
    return next((one for one in reversed(lines) if _ERROR.match(one)), lines[-1])


def _log(work: ClusterWork, pod: str, container: str) -> str:
    return work.tool.log(pod, container, _LINES, previous=True) or work.tool.log(
        pod, container, _LINES, previous=False
    )


_BY_HAND = "run `kubectl describe pod` for details; the previous pods keep running"
_NO_IMAGE = (
    "set another `image` below `extensions.cluster-orchestrator`: it cannot be pulled; the "
    "previous pods keep running"
)
_HINTS = {
    "ErrImagePull": _NO_IMAGE,
    "ImagePullBackOff": _NO_IMAGE,
    "InvalidImageName": _NO_IMAGE,
    _CRASHED: "fix the function and deploy again; the previous pods keep running",
}


_GATE_HINTS = {
    reason: hint.replace("`image`", "`gateImage`")
    for reason, hint in _HINTS.items()
    if reason != _CRASHED
}


def _describe_owner(thing: KubeObject) -> str:
    name = _read_function(thing)
    return f"function `{name}`" if name else "the gateway pod of the service"


def _read_function(thing: KubeObject) -> str:
    return read_texts_at(thing, "metadata", "labels").get(FUNCTION, "")


def _missing_object_problem(name: str) -> Problem:
    message = f"`{name}` was deleted by another process during the deploy"
    return Problem("provider/failed", message, "run the command again to re-create it")


def _rollout_timeout_problem(work: ClusterWork, seen: _Rolling) -> Problem:
    message = (
        f"timeout: `{work.address.service}` has {seen.ready} of {seen.wanted} pods ready after "
        f"{work.scope.waiting.most:.0f} s"
    )
    hint = "check the capacity of the cluster, or increase `rolloutSeconds`"
    return Problem("deploy/rollout", message, hint)
