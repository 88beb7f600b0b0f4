"""Secrets Manager, Parameter Store and the account of the caller, in this process: records which
values were read."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any

KEYS = {
    "AWS_ACCESS_KEY_ID": "AKIAFABRICTESTS",
    "AWS_SECRET_ACCESS_KEY": "a-secret-of-the-tests",
    "AWS_REGION": "eu-central-1",
}
_ARN = "arn:aws:secretsmanager:eu-central-1:123456789012:secret"


@dataclass(frozen=True)
class Version:
    ident: str
    text: str
    labels: tuple[str, ...] = ("AWSCURRENT",)


@dataclass
class AwsValues:
    """`calls` are the operations with the names that they read."""

    endpoint: str = ""
    secrets: dict[str, tuple[Version, ...]] = field(default_factory=dict)
    # By name, with the values of all versions.
    parameters: dict[str, tuple[str, ...]] = field(default_factory=dict)
    # Names of parameters that are not encrypted.
    plain: frozenset[str] = frozenset()
    # Operations that the credentials may not call.
    forbidden: frozenset[str] = frozenset()
    # The error code of all answers.
    refusal: str = ""
    calls: list[tuple[str, str]] = field(default_factory=list)
    lock: Lock = field(default_factory=Lock)

    @property
    def env(self) -> dict[str, str]:
        return {**KEYS, "AWS_ENDPOINT_URL": self.endpoint}

    def put(self, name: str, *versions: Version) -> None:
        self.secrets[name] = versions

    def list_read(self) -> list[tuple[str, str]]:
        """List the calls that return values of secrets."""
        return [one for one in self.calls if one[0] in ("GetSecretValue", "GetParameter")]

    def answer(self, operation: str, asked: dict[str, Any]) -> dict[str, Any]:
        if self.refusal:
            raise _RefusedError(self.refusal)
        if operation in self.forbidden:
            raise _RefusedError("AccessDeniedException")
        match operation:
            case "DescribeSecret":
                return self._describe(asked["SecretId"])
            case "GetSecretValue":
                return self._read(asked["SecretId"], asked.get("VersionId", ""))
            case "GetParameters":
                rows = [self._find(one, decrypts=asked["WithDecryption"]) for one in asked["Names"]]
                return {"Parameters": [one for one in rows if one]}
            case "GetParameter":
                return {"Parameter": self._find(asked["Name"], decrypts=asked["WithDecryption"])}
            case _:
                raise _RefusedError("InvalidAction")

    def _describe(self, name: str) -> dict[str, Any]:
        self._note("DescribeSecret", name)
        versions = {one.ident: list(one.labels) for one in self._get(name)}
        return {"ARN": f"{_ARN}:{name}-a1B2c3", "Name": name, "VersionIdsToStages": versions}

    def _read(self, name: str, ident: str) -> dict[str, Any]:
        self._note("GetSecretValue", f"{name} {ident}")
        found = next((one for one in self._get(name) if one.ident == ident), None)
        if found is None:
            raise _RefusedError("ResourceNotFoundException")
        return {"SecretString": found.text, "VersionId": ident}

    def _get(self, name: str) -> tuple[Version, ...]:
        if name not in self.secrets:
            raise _RefusedError("ResourceNotFoundException")
        return self.secrets[name]

    def _find(self, asked: str, *, decrypts: bool) -> dict[str, Any] | None:
        name, _, version = asked.partition(":")
        self._note("GetParameter" if decrypts else "GetParameters", asked)
        values = self.parameters.get(name)
        if values is None:
            return None
        number = int(version or len(values))
        is_plain = name in self.plain
        return {
            "Name": name,
            "Selector": f":{version}" if version else "",
            "Type": "String" if is_plain else "SecureString",
            "Value": values[number - 1] if is_plain or decrypts else "encrypted",
            "Version": number,
        }

    def _note(self, operation: str, name: str) -> None:
        with self.lock:
            self.calls.append((operation, name))


class _RefusedError(Exception):
    """`str` is the error code."""


@contextmanager
def served_aws_values() -> Iterator[AwsValues]:
    values = AwsValues()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:  # noqa: N802
            asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
            operation = self.headers["x-amz-target"].rpartition(".")[2]
            status, answer = 200, dict[str, Any]()
            try:
                answer = values.answer(operation, asked)
            except _RefusedError as error:
                status, answer = 400, {"__type": str(error)}
            body = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("content-type", "application/x-amz-json-1.1")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        values.endpoint = f"http://127.0.0.1:{server.server_port}"
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield values
        server.shutdown()
        thread.join()
