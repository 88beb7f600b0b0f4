"""The boto3 clients of one AWS account, created on demand and shared by all calls."""

import threading
import time
from typing import Any

from fabric.model.problems import FabricError, Problem
from fabric.providers.core.http_calls import require_cloud_extra
from fabric.system.cloud1_account import (
    CREDENTIALS,
    Cloud1Account,
    Trying,
    open_boto_client,
    open_boto_session,
)
from fabric.system.optional_packages import require_packages

MAX_PARALLEL = 16
# The client itself finds the rate that an account takes; a fixed one fails a large first deploy.
PATIENT = Trying("adaptive", 10, MAX_PARALLEL)
# For what a second call would do twice.
ONCE = Trying("standard", 1, MAX_PARALLEL)
# A function may take a quarter of an hour.
CALLING = Trying("standard", 1, MAX_PARALLEL, 910.0)


class Cloud1Clients:
    """Thread-safe cache of clients. Clients are untyped, because boto3 defines operations as
    data."""

    def __init__(self, account: Cloud1Account) -> None:
        self._account = account
        self._guard = threading.Lock()
        self._session: Any = None
        self._made: dict[tuple[str, Trying], Any] = {}
        self._asking = threading.Lock()
        self._number = ""
        self._refused: dict[str, float] = {}

    def has_waited(self, role: str, seconds: float) -> bool:
        """Return whether the wait for a new role is over since it was first rejected. All functions
        share this wait instead of each starting a new one."""
        with self._guard:
            first = self._refused.setdefault(role, time.monotonic())
        return time.monotonic() - first > seconds

    def of(self, service: str, trying: Trying = PATIENT) -> Any:
        with self._guard:
            if (service, trying) not in self._made:
                self._made[service, trying] = self._create_client(service, trying)
            return self._made[service, trying]

    def account(self) -> str:
        """The account number; reading it needs no permission."""
        with self._asking:
            self._number = self._number or self.of("sts").get_caller_identity()["Account"]
            return self._number

    def _create_client(self, service: str, trying: Trying) -> Any:
        if self._account.is_half:
            raise FabricError(missing_credentials_problem())
        with require_packages(require_cloud_extra("cloud1-lambda")):
            self._session = self._session or open_boto_session(self._account)
        return open_boto_client(self._session, service, self._account, trying)

    def close(self) -> None:
        with self._guard:
            for client in self._made.values():
                client.close()
            self._made.clear()


def missing_credentials_problem() -> Problem:
    message = "missing credentials for AWS Lambda (`cloud1-lambda`)"
    return Problem("credentials/missing", message, hint=f"set {CREDENTIALS}")
