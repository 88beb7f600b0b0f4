"""The server as tests meet it: an account of their own, its calls, its faults, what is left."""

import contextlib
import json
import sys
import urllib.error
import urllib.request
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from email.message import Message
from functools import cache
from pathlib import Path
from typing import Any

from tests.support.project import REPO
from tests.support.servers.process import Command, free_port, listens, running

REGION = "us-east-1"
SECRET = "a-secret-of-the-tests"  # noqa: S105
_TRUST = {
    "Version": "2012-10-17",
    "Statement": [
        {
            "Effect": "Allow",
            "Principal": {"Service": ["lambda.amazonaws.com", "scheduler.amazonaws.com"]},
            "Action": "sts:AssumeRole",
        }
    ],
}


@contextlib.contextmanager
def strict_server(folder: Path) -> Iterator[str]:
    """Its address, for as long as this lasts."""
    port = free_port()
    archives = folder / "archives"
    archives.mkdir()
    package = "tests.support.servers.strict_cloud1"
    argv = [sys.executable, "-m", package, str(port), str(archives)]
    with running(Command(argv, folder, {"PYTHONPATH": str(REPO)}), lambda: listens(port)):
        yield f"http://127.0.0.1:{port}"


@dataclass(frozen=True)
class HttpAnswer:
    """Names of headers are in small letters; one that comes twice is joined."""

    status: int
    body: bytes
    headers: dict[str, str]

    @property
    def text(self) -> str:
        return self.body.decode()

    @property
    def json(self) -> Any:
        return json.loads(self.text)


@dataclass
class StrictCloud1:
    """`key` is an account: nothing in it is seen from any other."""

    endpoint: str
    key: str = field(default_factory=lambda: f"AKIA{uuid.uuid4().hex[:16].upper()}")
    region: str = REGION
    _clients: dict[str, Any] = field(default_factory=dict)

    @property
    def environment(self) -> dict[str, str]:
        """For a command line: the variables of cloud1's own clients."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ACCESS_KEY_ID": self.key,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_REGION": self.region,
            "AWS_DEFAULT_REGION": self.region,
        }

    def client(self, service: str, region: str = "") -> Any:
        """Of boto3, which is untyped; it never tries again by itself."""
        key = f"{service} {region}"
        if key not in self._clients:
            self._clients[key] = _session().client(
                service,
                endpoint_url=self.endpoint,
                region_name=region or self.region,
                aws_access_key_id=self.key,
                aws_secret_access_key=SECRET,
                config=_once(),
            )
        return self._clients[key]

    def role(self, name: str = "functions") -> str:
        """The ARN of a role that functions and schedules may take on."""
        trust = json.dumps(_TRUST)
        made = self.client("iam").create_role(RoleName=name, AssumeRolePolicyDocument=trust)
        return str(made["Role"]["Arn"])

    def calls(self) -> dict[str, int]:
        """How often each operation was asked for: `{"lambda.CreateFunction": 1}`."""
        return dict(self._ask("calls"))

    def answers(self) -> list[tuple[str, int]]:
        """Each call in its turn, with the status it was answered with; 0 is none."""
        return [(name, status) for name, status in self._ask("answers")]

    def reset(self) -> None:
        """Forgets counts, faults and rates; what was made stays."""
        self._ask("reset", {})

    def fault(self, operation: str, **plan: Any) -> None:
        """See `Fault`: skip, times, after, half, changing, status, code, message, login."""
        self._ask("fault", {"operation": operation, **plan})

    def role_is_slow(self, times: int) -> None:
        """A new role is not known everywhere at once."""
        message = "The role defined for the function cannot be assumed by Lambda."
        code = "InvalidParameterValueException"
        self.fault("lambda.CreateFunction", times=times, status=400, code=code, message=message)

    def throttle(self, *, every: int = 0, per_second: float = 0) -> None:
        self._ask("throttle", {"every": every, "per_second": per_second})

    def changes_take(self, looks: int) -> None:
        """How often a change is looked at before it is done; 1 where nothing is said."""
        self._ask("looks", looks)

    def use_registry(self, registry: str) -> None:
        """ECR's images are in this registry."""
        self._ask("registry", registry)

    def trust_issuer(self, issuer: str, keys: dict[str, str]) -> None:
        """An issuer of tokens has these public keys, as PEM by the id of the key."""
        self._ask("issuer", {issuer: keys})

    def fire_rule(self, name: str) -> None:
        """The time of a rule of the default bus comes now."""
        assert self._ask("fire", {"region": self.region, "rule": name}), f"no rule {name} is on"

    def fire_schedule(self, name: str) -> None:
        asked = {"region": self.region, "schedule": name}
        assert self._ask("fire", asked), f"no schedule {name} is on"

    def has_stack(self, name: str, resources: dict[str, dict[str, str]]) -> None:
        """Another tool has deployed these resources: `id`, `Type` and policies by logical id."""
        self._ask("stack", {"region": self.region, "name": name, "resources": resources})

    def forget(self) -> None:
        """The account is closed, and its warm functions are ended."""
        self._ask("forget", {})

    def left(self) -> dict[str, list[str]]:
        """All that a deployer could have left behind, by kind."""
        return dict(self._ask("left"))

    @property
    def account(self) -> str:
        return str(self._ask("account"))

    def http_get(self, url: str, **headers: str) -> HttpAnswer:
        return self.http("GET", url, headers=headers)

    def http(
        self,
        method: str,
        url: str,
        body: bytes | None = None,
        headers: dict[str, str] | None = None,
    ) -> HttpAnswer:
        asked = urllib.request.Request(url, body, headers or {}, method=method)  # noqa: S310
        try:
            with urllib.request.urlopen(asked) as answer:  # noqa: S310 - on this machine
                return HttpAnswer(answer.status, answer.read(), _headers(answer.headers))
        except urllib.error.HTTPError as error:
            with error:
                return HttpAnswer(error.code, error.read(), _headers(error.headers))

    def close(self) -> None:
        """Ends the clients; the account stays for others that have its key."""
        for client in self._clients.values():
            client.close()

    def _ask(self, what: str, given: object = None) -> Any:
        body = None if given is None else json.dumps(given).encode()
        answer = self.http("POST", f"{self.endpoint}/_server/{what}?key={self.key}", body)
        assert answer.status == 200, answer.text
        return answer.json


def _headers(given: Message) -> dict[str, str]:
    return {name.lower(): ", ".join(given.get_all(name, ())) for name in given}


@cache
def _session() -> Any:
    # Every session of tests loads this file; few of them need it.
    import boto3

    return boto3.session.Session()


@cache
def _once() -> Any:
    from botocore.config import Config

    return Config(retries={"total_max_attempts": 1}, s3={"addressing_style": "path"})
