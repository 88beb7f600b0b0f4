"""Run `kubectl`: one call, which succeeds or raises a problem with the cause."""

import json
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from fabric.model.problems import FabricError, Problem
from fabric.model.secrets.secrecy import redact_userinfo
from fabric.model.secrets.secret import Secret
from fabric.providers.cluster.object_settings import ObjectSettings
from fabric.providers.cluster.objects import KubeObject, read_rows_at
from fabric.providers.core.contract import NO_CONTEXT, CallContext
from fabric.providers.core.errors import format_generic_hint
from fabric.system.process.bounded_process import Ending, Limits, Overheard, run_bounded
from fabric.system.process.child_protocol import ChildTalk

TOOL = "kubectl"
_LIMITS = Limits(seconds=120, stdout=256_000_000)
# What the tool itself waits for one answer.
_TIMEOUT = "--request-timeout=60s"
_PATIENCE = 5.0
# Of a pod that waits for its image, or has gone between two questions.
_NO_LOG = ("NotFound", "is waiting to start", "ContainerCreating", "not found")
_KINDS = "deployments,services,configmaps,secrets,cronjobs,ingresses"
AUTOSCALERS = "horizontalpodautoscalers"
ALL_KINDS = f"{_KINDS},{AUTOSCALERS}"


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


_UNREACHABLE = re.compile(
    r"unable to connect|connection refused|was refused - did you|no such host|i/o timeout"
    r"|connection reset|TLS handshake|deadline exceeded|ServiceUnavailable|InternalError"
    r"|etcdserver:|net/http|unexpected EOF|: EOF|Too ?Many ?Requests|Client\.Timeout",
    re.IGNORECASE,
)
_UNKNOWN = re.compile(r"Unauthorized|must be logged in|provide credentials|getting credentials")
_FORBIDDEN = re.compile(r'cannot (\S+) resource "([^"]+)"(?: in API group "([^"]*)")?')
_CONFLICT = re.compile(r'conflicts? with "([^"]+)"(?: with subresource "[^"]+")?(?: using \S+?)?:')
_NO_SPACE = re.compile(r'namespaces? "([^"]+)" not found')
_KUBECONFIG = re.compile(
    r"context .*does not exist|no context exists|stat .*no such file|error loading config",
    re.IGNORECASE,
)
_LONGEST = 600


def _parse_conflicts(said: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Parse field conflicts. A single conflict shares its line with the field; several have one
    line each."""
    for found in _CONFLICT.finditer(said):
        rest = said[found.end() :].split("\n\n")[0].split("\nPlease")[0]
        following = _CONFLICT.search(rest)
        part = rest[: following.start()] if following else rest
        names = re.findall(r"(?:^|[\s-])(\.[^\s,]+)", part)
        yield found[1], tuple(dict.fromkeys(names)) or ("it",)


CONFIG, CONTEXT, NAMESPACE = "CLUSTER_CONFIG", "CLUSTER_CONTEXT", "CLUSTER_NAMESPACE"
_ROLLOUT_SECONDS = 300


class ClusterSettings(Struct, frozen=True, rename="camel"):
    """The settings of this provider's config section. `gate_pods` of 0 leaves the number to an
    autoscaler."""

    image: str = ""
    gate_image: str = "node:22-slim"
    gate_pods: int = 0
    hostname: str = ""
    ingress_class: str = ""
    tls_secret: str = ""
    # Where images of functions are pushed.
    registry: str = ""
    # Sets fields of other field managers.
    take_over: bool = False
    # Limits the wait for new pods.
    rollout_seconds: int = _ROLLOUT_SECONDS
    # Of the same section.
    objects: ObjectSettings = ObjectSettings()


class ClusterPlace(Struct, frozen=True):
    """The target as kubectl options."""

    config: str
    context: str
    namespace: str

    @property
    def options(self) -> tuple[str, ...]:
        return (
            *("--kubeconfig", self.config),
            *("--context", self.context),
            *("--namespace", self.namespace),
        )


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


def classify_rejection(place: ClusterPlace, said: str) -> Problem:
    words = " ".join(redact_userinfo(said).split()).removeprefix("error: ")
    for tells in (
        _find_conflict_problem,
        _find_permission_problem,
        _find_kubeconfig_problem,
        _find_namespace_problem,
    ):
        found = tells(place, said)
        if found is not None:
            return found
    if _UNREACHABLE.search(words):
        hint = "check the network and the cluster, then run the command again"
        message = f"the cluster is unreachable: {words[:_LONGEST]}"
        return Problem("provider/unreachable", message, hint)
    message = f"Kubernetes rejected the request: {words[:_LONGEST]}"
    return Problem("provider/refused", message, format_generic_hint("the cluster"))


def _find_permission_problem(place: ClusterPlace, said: str) -> Problem | None:
    denied = _FORBIDDEN.search(said)
    if denied:
        group = f" of {denied[3]}" if denied[3] else ""
        message = (
            f"permission denied: {denied[1]} `{denied[2]}`{group} in the namespace "
            f"`{place.namespace}`"
        )
        hint = f"grant the user of `{place.context}` a role that allows {denied[1]} on {denied[2]}"
        return Problem("credentials/refused", message, hint)
    if _UNKNOWN.search(said):
        message = f"Kubernetes does not accept the user of the context `{place.context}`"
        hint = f"log in to the cluster again, or check the user in the kubeconfig in `{CONFIG}`"
        return Problem("credentials/refused", message, hint)
    return None


def _find_kubeconfig_problem(place: ClusterPlace, said: str) -> Problem | None:
    if not _KUBECONFIG.search(said):
        return None
    words = " ".join(said.split()).removeprefix("error: ")
    message = f"kubeconfig `{place.config}`, context `{place.context}`: {words}"
    return Problem("credentials/refused", message[:_LONGEST], f"check `{CONFIG}` and `{CONTEXT}`")


def _find_namespace_problem(place: ClusterPlace, said: str) -> Problem | None:
    found = _NO_SPACE.search(said)
    if found is None:
        return None
    message = f"the namespace `{found[1]}` does not exist in the cluster"
    hint = f"run: kubectl --context {place.context} create namespace {found[1]}"
    return Problem("provider/refused", message, hint)


def _find_conflict_problem(_place: ClusterPlace, said: str) -> Problem | None:
    """Find which field manager has set which field of ours."""
    held = list(_parse_conflicts(said))
    if not held:
        return None
    fields = "; ".join(f"`{manager}` manages {', '.join(names)}" for manager, names in held)
    hint = (
        "remove these fields from the config, or set `takeOver: true` below "
        "`extensions.cluster-orchestrator` to overwrite them"
    )
    return Problem(
        "provider/conflict", f"fields that fabric set were changed by another tool: {fields}", hint
    )
