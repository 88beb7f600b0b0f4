"""From a problem to the status of an answer: one table, by codes and by their areas."""

from collections.abc import Sequence

from fabric.model.problems import Problem

OK, ACCEPTED, NO_CONTENT, NOT_MODIFIED = 200, 202, 204, 304
BAD_REQUEST, NO_KEY, FORBIDDEN, NOT_FOUND, NO_METHOD = 400, 401, 403, 404, 405
CONFLICT, TOO_LARGE, OTHER_HOST, UNPROCESSABLE, TOO_MANY = 409, 413, 421, 422, 429
FAILED, BAD_GATEWAY, NOT_NOW = 500, 502, 503
# After so many seconds who was told "not now" may ask again.
AGAIN = "5"

# What the caller wrote, and what he sent it about.
_ASKED_WRONG = (
    "usage", "config", "compose", "input", "build", "package", "vendor", "source", "plan", "git",
    "init", "request", "step", "layer", "image", "import",
)  # fmt: skip
# What is live, or going on, forbids it: asked at another time, or of another state, it may do.
_IN_THE_WAY = (
    "lock", "rollback", "state", "remove", "deploy", "invoke", "local", "observe", "dev", "router",
    "stack", "adopt", "promote", "check",
)  # fmt: skip
# Somebody behind us does not do what is asked of him.
_BEHIND = ("provider", "backend", "credentials", "executor")
# The machine of the server itself.
_HERE = (
    "disk", "cache", "runtime", "process", "plugin", "internal", "doctor", "run", "server",
    "daemon",
)  # fmt: skip
AREAS = {
    **dict.fromkeys(_ASKED_WRONG, BAD_REQUEST),
    **dict.fromkeys(_IN_THE_WAY, CONFLICT),
    **dict.fromkeys(_BEHIND, BAD_GATEWAY),
    **dict.fromkeys(_HERE, FAILED),
}
CODES = {
    "plan/stale": CONFLICT,
    "usage/protected-stage": CONFLICT,
    "source/unreachable": BAD_GATEWAY,
    "image/unreachable": BAD_GATEWAY,
    "deploy/archive-too-large": BAD_REQUEST,
    "deploy/environment-too-large": BAD_REQUEST,
    "deploy/unfit-archive": BAD_REQUEST,
    "deploy/unknown-provider": BAD_REQUEST,
    "deploy/command-failed": BAD_GATEWAY,
    "deploy/command-output": BAD_GATEWAY,
    "deploy/unhealthy": BAD_GATEWAY,
    "deploy/no-deployer": BAD_REQUEST,
    "deploy/no-destroy-command": BAD_REQUEST,
    "remove/command-failed": BAD_GATEWAY,
    "remove/no-destroy-command": BAD_REQUEST,
    "process/cannot-start": BAD_GATEWAY,
    "process/timeout": BAD_GATEWAY,
    "state/not-installed": FAILED,
    "state/bad-key": FAILED,
    "state/not-written": BAD_GATEWAY,
    "state/unreadable": BAD_GATEWAY,
    "run/interrupted": CONFLICT,
    "run/cancelled": CONFLICT,
    "run/moved": CONFLICT,
    "run/under-way": CONFLICT,
    "run/unknown": NOT_FOUND,
    "daemon/full": NOT_NOW,
    "daemon/draining": NOT_NOW,
    "daemon/streams-full": NOT_NOW,
    "request/no-key": NO_KEY,
    "request/read-only-key": FORBIDDEN,
    "request/cross-site": FORBIDDEN,
    "request/no-such-path": NOT_FOUND,
    "request/wrong-method": NO_METHOD,
    "request/too-slow": 408,
    "request/too-large": TOO_LARGE,
    "request/unknown-host": OTHER_HOST,
    "request/too-often": TOO_MANY,
    "request/header-too-large": 431,
    "request/unknown-encoding": 501,
    "request/other-version": 505,
    "server/busy": NOT_NOW,
}


def choose_http_status(problems: Sequence[Problem]) -> int:
    """Choose the HTTP status of the first problem, the cause of the others."""
    code = problems[0].code
    return CODES.get(code) or AREAS.get(code.partition("/")[0], FAILED)
