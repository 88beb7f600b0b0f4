"""Which caches a command reads and writes: `--cache local:rw,remote:r`, or what fits its place."""

from collections.abc import Mapping

from msgspec import Struct

from fabric.model.problems import FabricError, Problem

CACHE_VARIABLE = "FABRIC_CACHE"
_FORM = "local:rw,remote:r (remote may also be rw or w, or be left out)"
_WAYS = ("", "r", "w", "rw", "wr")
_NO = ("", "0", "false")
# Whoever opens a pull request runs code of his own: what that makes is not for the others.
_OF_PULL_REQUESTS = (
    "CI_MERGE_REQUEST_ID", "CIRCLE_PULL_REQUEST", "CHANGE_ID", "BITBUCKET_PR_ID",
)  # fmt: skip


class CacheModes(Struct, frozen=True):
    reads_remote: bool
    writes_remote: bool

    @property
    def has_remote(self) -> bool:
        return self.reads_remote or self.writes_remote


def cache_modes(said: str, env: Mapping[str, str]) -> CacheModes:
    """As the option says, else the variable, else read-only; in CI it writes too, but for what
    runs of pull requests make."""
    text = said or env.get(CACHE_VARIABLE, "")
    if text:
        return _parsed(text, "--cache" if said else CACHE_VARIABLE)
    is_ci = env.get("CI", "") not in _NO
    return CacheModes(reads_remote=True, writes_remote=is_ci and not of_pull_request(env))


def of_pull_request(env: Mapping[str, str]) -> bool:
    return (
        env.get("GITHUB_EVENT_NAME", "").startswith("pull_request")
        or env.get("BUILDKITE_PULL_REQUEST", "false") not in _NO
        or env.get("BUILD_REASON") == "PullRequest"
        or any(env.get(name, "") not in _NO for name in _OF_PULL_REQUESTS)
    )


def _parsed(text: str, name: str) -> CacheModes:
    ways: dict[str, str] = {}
    for part in text.split(","):
        where, colon, way = part.strip().partition(":")
        is_known = where in ("local", "remote") and where not in ways
        if not (is_known and colon and way in _WAYS):
            raise _bad(f"{name} {text} says nothing of caches")
        ways[where] = way
    if set(ways.get("local", "rw")) != {"r", "w"}:
        raise _bad(f"{name} {text}: the cache of this machine is always read and written")
    remote = ways.get("remote", "")
    return CacheModes(reads_remote="r" in remote, writes_remote="w" in remote)


def _bad(message: str) -> FabricError:
    return FabricError(Problem("usage/bad-value", message, hint=f"as in {_FORM}"))
