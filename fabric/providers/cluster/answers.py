"""Error messages of kubectl as problems with a cause and a hint. No effects."""

import re
from collections.abc import Iterator

from fabric.model.problems import Problem
from fabric.model.secrecy import redact_userinfo
from fabric.providers.cluster.settings import CONFIG, CONTEXT, ClusterPlace
from fabric.providers.core.errors import format_generic_hint

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


def _parse_conflicts(said: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Parse field conflicts. A single conflict shares its line with the field; several have one
    line each."""
    for found in _CONFLICT.finditer(said):
        rest = said[found.end() :].split("\n\n")[0].split("\nPlease")[0]
        following = _CONFLICT.search(rest)
        part = rest[: following.start()] if following else rest
        names = re.findall(r"(?:^|[\s-])(\.[^\s,]+)", part)
        yield found[1], tuple(dict.fromkeys(names)) or ("it",)
