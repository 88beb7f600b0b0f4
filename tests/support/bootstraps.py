"""Programs that take events from a Lambda Runtime API, as archives with a `bootstrap`."""

import sys
import textwrap

from fabric.model.calls.host_facts import AWS_LAMBDA
from fabric.model.secrets.secret import Secret
from fabric.runtimes.archive import build_archive
from fabric.runtimes.calls.function import CallingProvider, LocalFunction
from fabric.runtimes.contract import BuiltFile
from fabric.runtimes.invoke import Invocation

ARN = "arn:aws:lambda:eu-west-1:000000000000:function:shop-dev-hello"
# A client of the Runtime API: `get` and `post` return status, headers and body.
CLIENT = f"""#!{sys.executable} -S
import http.client, json, os, sys
api = http.client.HTTPConnection(os.environ["AWS_LAMBDA_RUNTIME_API"])

def send(method, path, body=None, headers={{}}):
    is_chunked = "Transfer-Encoding" in headers
    api.request(method, "/2018-06-01/runtime/" + path, body, headers, encode_chunked=is_chunked)
    answer = api.getresponse()
    return answer.status, dict(answer.getheaders()), answer.read()

def take():
    _, headers, body = send("GET", "invocation/next")
    return headers, json.loads(body)

def path_of(headers, name):
    return "invocation/" + headers["Lambda-Runtime-Aws-Request-Id"] + "/" + name

def respond(headers, body, more={{}}):
    return send("POST", path_of(headers, "response"), body, more)

def fail(headers, document):
    return send("POST", path_of(headers, "error"), json.dumps(document))
"""
LOOP = """
calls = 0
while True:
    headers, event = take()
    calls += 1
    respond(headers, json.dumps(handle(event, headers)))
"""


def handler_program(text: str) -> str:
    """Return a program with a function `handle(event, headers)`."""
    return CLIENT + textwrap.dedent(text) + LOOP


def caller(architecture: str = "") -> CallingProvider:
    return CallingProvider(
        resource=ARN, memory=128, region="eu-west-1", architecture=architecture, facts=AWS_LAMBDA
    )


def archive(program: str | bytes, *, mode: int = 0o755, **more: str) -> bytes:
    content = program if isinstance(program, bytes) else program.encode()
    files = [BuiltFile("bootstrap", content, executable=bool(mode & 0o100))]
    return build_archive([*files, *(BuiltFile(name, one.encode()) for name, one in more.items())])


def bootstrap_call(
    program: str | bytes, event: str = "null", timeout: float = 20, **options: str
) -> Invocation:
    """Return a call of a bootstrap. `mode` and `architecture` are options."""
    return Invocation(
        "hello",
        archive(program, mode=int(options.get("mode", "755"), 8), **{"data.txt": "here"}),
        "bootstrap",
        "provided.al2023",
        event=event,
        env=Secret((("DECLARED", "yes"),)),
        timeout=timeout,
        caller=caller(options.get("architecture", "")),
    )


def bootstrap_function(program: str | bytes, timeout: float = 20) -> LocalFunction:
    return bootstrap_call(program, timeout=timeout).local
