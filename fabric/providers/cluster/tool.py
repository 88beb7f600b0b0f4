"""Run `kubectl`: one call, which succeeds or raises a problem with the cause."""

import json
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from fabric.model.problems import FabricError, Problem
from fabric.model.secret import Secret
from fabric.providers.cluster.answers import classify_rejection
from fabric.providers.cluster.objects import KubeObject, read_rows_at
from fabric.providers.cluster.settings import ClusterPlace
from fabric.providers.core.contract import NO_CONTEXT, CallContext
from fabric.system.bounded_process import Ending, Limits, Overheard, run_bounded
from fabric.system.child_protocol import ChildTalk

TOOL = "kubectl"
_LIMITS = Limits(seconds=120, stdout=256_000_000)
# What the tool itself waits for one answer.
_TIMEOUT = "--request-timeout=60s"
_PATIENCE = 5.0
# Of a pod that waits for its image, or has gone between two questions.
_NO_LOG = ("NotFound", "is waiting to start", "ContainerCreating", "not found")
_KINDS = "deployments,services,configmaps,secrets,cronjobs,ingresses"


class ClusterTool(Struct, frozen=True):
    """kubectl for one namespace of one cluster. Values are passed only through standard input."""

    place: ClusterPlace
    cwd: Path
    env: Secret[Mapping[str, str]]

    def list_objects(self, selector: str, kinds: str = _KINDS) -> list[KubeObject]:
        return self._fetch_rows("get", kinds, "-l", selector)

    def find_named(self, names: Iterable[str]) -> list[KubeObject]:
        """Return the existing objects of these `Kind/name`, whatever their owner."""
        asked = sorted(names)
        return self._fetch_rows("get", *asked, "--ignore-not-found") if asked else []

    def ingresses(self) -> list[KubeObject]:
        """Return all Ingresses of the namespace, whatever their owner."""
        return self._fetch_rows("get", "ingresses")

    def apply(
        self, things: Sequence[KubeObject], manager: str, *, takes_over: bool, watch: CallContext
    ) -> None:
        """Apply all objects in one call. Fields of other field managers stay, unless taken over."""
        document = {"apiVersion": "v1", "kind": "List", "items": list(things)}
        force = ("--force-conflicts",) if takes_over else ()
        words = ("apply", "--server-side", f"--field-manager={manager}", *force, "-f", "-")
        self._run((*words, "-o", "name"), json.dumps(document).encode(), watch)

    def delete(self, names: Iterable[str], watch: CallContext = NO_CONTEXT) -> None:
        """Delete objects by `Kind/name`. A missing one is not an error."""
        asked = tuple(names)
        if asked:
            self._run(("delete", *asked, "--ignore-not-found", "--wait=false"), b"", watch)

    def log(self, pod: str, container: str, lines: int, *, previous: bool) -> str:
        """Return the last log lines of a pod; empty without a log."""
        words = ("logs", pod, "-c", container, f"--tail={lines}")
        try:
            heard = self._run((*words, *(("--previous",) if previous else ())))
        except FabricError:
            return ""
        return heard.stdout.decode(errors="replace").strip()

    def lines_since(self, pod: str, since: str, watch: CallContext) -> str:
        """Return log lines since a time, each with its timestamp. Empty for a pod that has not
        started or no longer exists."""
        words = ("logs", pod, "--all-containers", "--timestamps", f"--since-time={since}")
        heard = self._run_tool((*words, "--tail=-1"), b"", watch)
        said = heard.stderr.decode(errors="replace")
        if heard.code and not any(one in said for one in _NO_LOG):
            raise FabricError(classify_rejection(self.place, said))
        return heard.stdout.decode(errors="replace")

    def version(self) -> tuple[int, int]:
        found = self._fetch_document("version", "-o", "json").get("serverVersion")
        said = found if isinstance(found, dict) else {}
        return _count(said.get("major")), _count(said.get("minor"))

    def may(self, verb: str, kind: str) -> bool:
        # It ends with 1 where the answer is no.
        heard = self._run_tool(("auth", "can-i", verb, kind), b"", NO_CONTEXT)
        said = heard.stdout.decode(errors="replace").split()
        if said[:1] == ["yes"] and heard.code == 0:
            return True
        if said[:1] == ["no"]:
            return False
        raise FabricError(classify_rejection(self.place, heard.stderr.decode(errors="replace")))

    def _fetch_rows(self, *words: str) -> list[KubeObject]:
        """Return the objects: kubectl prints one object directly, several as a list, and none as
        empty output."""
        found = self._fetch_document(*words, "-o", "json")
        return (
            read_rows_at(found, "items")
            if found.get("kind") == "List"
            else [found]
            if found
            else []
        )

    def _fetch_document(self, *words: str) -> KubeObject:
        text = self._run(words).stdout.strip()
        try:
            found = json.loads(text or b"{}")
        except (ValueError, RecursionError) as error:
            raise FabricError(_output_problem(words)) from error
        if not isinstance(found, dict):
            raise FabricError(_output_problem(words))
        return found

    def _run(
        self, words: Sequence[str], stdin: bytes = b"", watch: CallContext = NO_CONTEXT
    ) -> Overheard:
        heard = self._run_tool(words, stdin, watch)
        if heard.code:
            raise FabricError(classify_rejection(self.place, heard.stderr.decode(errors="replace")))
        return heard

    def _run_tool(self, words: Sequence[str], stdin: bytes, watch: CallContext) -> Overheard:
        argv = (find_kubectl(self.env.reveal()), *self.place.options, _TIMEOUT, *words)
        talk = ChildTalk(stdin, is_to_end=watch.is_to_end, patience=_PATIENCE)
        heard = run_bounded(argv, cwd=self.cwd, env=self.env.reveal(), limits=_LIMITS, talk=talk)
        match heard.ending:
            case Ending.TIMED_OUT:
                why = f"timeout: `{TOOL} {words[0]}` did not end within {_LIMITS.seconds:.0f} s"
                raise FabricError(Problem("provider/unreachable", why, "check the cluster"))
            case Ending.UNWANTED:
                message = f"the run was stopped during `{TOOL} {words[0]}`"
                raise FabricError(Problem("provider/interrupted", message))
            case Ending.TOO_MUCH:
                raise FabricError(_output_problem(words))
            case _:
                return heard


def find_kubectl(env: Mapping[str, str]) -> str:
    found = shutil.which(TOOL, path=env.get("PATH", ""))
    if found is None:
        message = (
            f"`{TOOL}` was not found on PATH, and Kubernetes (`cluster-orchestrator`) requires it"
        )
        hint = (
            "install it from https://kubernetes.io/docs/tasks/tools/, or set "
            "`FABRIC_CLUSTER_DEPLOY_CMD` to a deploy command"
        )
        raise FabricError(Problem("credentials/no-tool", message, hint))
    return found


def _count(text: object) -> int:
    digits = "".join(one for one in str(text or "") if one.isdecimal())
    return int(digits or 0)


def _output_problem(words: Sequence[str]) -> Problem:
    message = f"cannot parse the output of `{TOOL} {words[0]}`"
    return Problem(
        "provider/failed", message, f"run `{TOOL} {words[0]}` manually to see its output"
    )
