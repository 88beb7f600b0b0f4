"""The caches that a command reads and writes: `--cache local:rw,remote:r`, or a default."""

from collections.abc import Mapping

from msgspec import Struct

from fabric.model.problems import FabricError, Problem

CACHE_VARIABLE = "FABRIC_CACHE"
_FORM = "local:rw,remote:r (remote can also be rw, w or omitted)"
_WAYS = ("", "r", "w", "rw", "wr")
_NO = ("", "0", "false")
# Build machines that set no `CI`.
_CI_OF_ITS_OWN = ("TF_BUILD", "JENKINS_URL", "TEAMCITY_VERSION", "CODEBUILD_BUILD_ID")
# Whoever opens a pull request runs code of his own: what that makes is not for the others.
_OF_PULL_REQUESTS = (
    "CI_MERGE_REQUEST_ID", "CI_MERGE_REQUEST_IID", "CI_EXTERNAL_PULL_REQUEST_IID",
    "CIRCLE_PULL_REQUEST", "CIRCLE_PR_NUMBER", "CHANGE_ID", "BITBUCKET_PR_ID",
    "BUILDKITE_PULL_REQUEST", "DRONE_PULL_REQUEST", "TRAVIS_PULL_REQUEST",
    "APPVEYOR_PULL_REQUEST_NUMBER",
)  # fmt: skip
# These run with all rights, and often check out what a pull request holds.
_OF_OTHERS = ("pull_request", "workflow_run", "issue_comment")


class CacheModes(Struct, frozen=True):
    reads_remote: bool
    writes_remote: bool

    @property
    def has_remote(self) -> bool:
        return self.reads_remote or self.writes_remote


def cache_modes(said: str, env: Mapping[str, str]) -> CacheModes:
    """Choose the modes: option, variable, or default. The shared cache is read-only by default.

    In CI it is also written, except in pull request runs.
    """
    text = said or env.get(CACHE_VARIABLE, "")
    if text:
        return _parse_modes(text, "--cache" if said else CACHE_VARIABLE)
    return CacheModes(reads_remote=True, writes_remote=is_ci(env) and not is_pull_request(env))


def is_ci(env: Mapping[str, str]) -> bool:
    """Return whether this is a CI machine. The variable `CI` has priority."""
    said = env.get("CI", "")
    return said not in _NO if said else any(env.get(name) for name in _CI_OF_ITS_OWN)


def is_pull_request(env: Mapping[str, str]) -> bool:
    return (
        env.get("GITHUB_EVENT_NAME", "").startswith(_OF_OTHERS)
        or env.get("BUILD_REASON") == "PullRequest"
        or any(env.get(name, "") not in _NO for name in _OF_PULL_REQUESTS)
    )


def _parse_modes(text: str, name: str) -> CacheModes:
    ways: dict[str, str] = {}
    for part in text.split(","):
        where, colon, way = part.strip().partition(":")
        is_known = where in ("local", "remote") and where not in ways
        if not (is_known and colon and way in _WAYS):
            raise _bad_modes_error(f"invalid value for {name}: `{text}`")
        ways[where] = way
    if set(ways.get("local", "rw")) != {"r", "w"}:
        raise _bad_modes_error(f"invalid value for {name}: `{text}`: the local cache is always rw")
    remote = ways.get("remote", "")
    return CacheModes(reads_remote="r" in remote, writes_remote="w" in remote)


def _bad_modes_error(message: str) -> FabricError:
    return FabricError(Problem("usage/bad-value", message, hint=f"use {_FORM}"))
