"""From a config to an answer: handlers in the way of their provider, deployed here and called."""

import json
from pathlib import Path

import pytest

from tests.support.handler_cases import GET, POST
from tests.support.in_process import project
from tests.support.project import Done, Project

CONFIG = """\
service: shop
provider: {{name: {provider}, runtime: {runtime}, region: eu-west-1}}
functions:
  - name: one
    entry: {entry}
    memory: 256
    env: {{DECLARED: 'yes'}}
    triggers: [{{type: http, route: 'GET:/items/{{id}}'}}]
"""
WORKER = """\
interface Env { DECLARED: string }
export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    return Response.json({ path: new URL(request.url).pathname, declared: env.DECLARED });
  },
};
"""
SHAPES: dict[str, tuple[str, str, dict[str, object]]] = {
    "cloud1-lambda": (
        "one.ts",
        "export const handler = async (event: any, context: any) => ({\n"
        "  arn: context.invokedFunctionArn, memory: context.memoryLimitInMB,\n"
        "  region: process.env.AWS_REGION, handler: process.env._HANDLER });\n",
        {
            "arn": "arn:aws:lambda:eu-west-1:000000000000:function:shop-dev-one",
            "memory": "256",
            "region": "eu-west-1",
            "handler": "one.handler",
        },
    ),
    "cloud2-functions": (
        "one.py",
        "def handler(request):\n    return {'id': request.path}\n",
        {"statusCode": 200, "body": '{"id": "/items/7"}'},
    ),
    "cloud5-functions": (
        "one.js",
        "exports.main = (event) => ({ body: event.http.path });\n",
        {"statusCode": 200, "body": "/items/7"},
    ),
    "edge1-workers": (
        "one.ts",
        WORKER,
        {"statusCode": 200, "body": '{"path":"/items/7","declared":"yes"}'},
    ),
    "host1": (
        "api/one.ts",
        "export default function (req: any, res: any) { res.status(201).json(req.query.a); }\n",
        {"statusCode": 201, "body": '"1"'},
    ),
    "host2": (
        "one.mts",
        "export default async (req: Request, context: any) => new Response(context.params.id);\n",
        {"statusCode": 200, "body": "7"},
    ),
    "host3-machines": (
        "one.py",
        "def app(environ, start_response):\n    start_response('200 OK', [])\n"
        "    return [environ['PATH_INFO'].encode()]\n",
        {"statusCode": 200, "body": "/items/7"},
    ),
}


def deployed(tmp_path: Path, provider: str, entry: str, text: str) -> Project:
    made = project(tmp_path)
    runtime = "python3.11" if entry.endswith(".py") else "nodejs20.x"
    config = CONFIG.format(provider=provider, runtime=runtime, entry=entry)
    made.write({"fabric.yml": config, entry: text})
    assert made.json("deploy").code == 0
    return made


def called(made: Project, event: object, *words: str) -> Done:
    made.write({"event.json": json.dumps(event)})
    return made.json("invoke", "run", "--event", "event.json", *words)


@pytest.mark.parametrize("provider", SHAPES)
def test_a_deployed_handler_is_called_as_its_provider_calls_it(
    provider: str, tmp_path: Path
) -> None:
    entry, text, least = SHAPES[provider]
    event = {**GET, "rawQueryString": "a=1"}
    response = called(deployed(tmp_path, provider, entry, text), event).result["response"]
    assert {name: response[name] for name in least} == least


def test_the_convention_is_that_of_the_provider_behind_a_label(tmp_path: Path) -> None:
    entry, text, least = SHAPES["edge1-workers"]
    made = project(tmp_path)
    config = CONFIG.format(provider="cloud1-lambda", runtime="nodejs20.x", entry=entry)
    far = "providerOverrides: {far: {name: edge1-workers}}\n"
    made.write({entry: text, "fabric.yml": config + far})
    assert made.json("deploy", "--provider", "far").code == 0
    response = called(made, GET, "--provider", "far").result["response"]
    assert {name: response[name] for name in least} == least


def test_payload_that_is_not_a_request_is_posted_to_the_function_path(tmp_path: Path) -> None:
    text = "export default (req, res) => res.json([req.method, req.url, req.body]);\n"
    made = deployed(tmp_path, "host1", "one.mjs", text)
    response = called(made, {"id": 3}).result["response"]
    assert json.loads(response["body"]) == ["POST", "/items/3", {"id": 3}]


def test_a_handler_that_throws_in_its_providers_way_is_a_failure(tmp_path: Path) -> None:
    text = "export default (req, res) => { throw new RangeError('far'); };\n"
    done = called(deployed(tmp_path, "host1", "one.mjs", text), POST)
    assert (done.code, done.error["code"]) == (1, "invoke/failed")
    assert "RangeError: far" in done.error["message"]


def test_an_object_that_the_provider_does_not_call_is_refused_before_anything_changes(
    tmp_path: Path,
) -> None:
    made = project(tmp_path)
    config = CONFIG.format(provider="cloud1-lambda", runtime="nodejs20.x", entry="one.ts")
    made.write({"fabric.yml": config, "one.ts": WORKER})
    done = made.json("deploy")
    assert (done.code, done.error["code"]) == (1, "build/no-handler")
    assert not (made.root / ".fabric/state").exists()


PARAMETERS = {
    "one.js": "module.exports.handler = async (context, req) => {\n"
    "  context.res = { body: req.params.id };\n};\n",
    "one.py": "def main(req):\n    return {'body': req.route_params['id']}\n",
}


@pytest.mark.parametrize("entry", PARAMETERS)
@pytest.mark.parametrize(
    ("payload", "meant"),
    [
        ('{"id": "a/b"}', "a/b"),
        ('{"rawPath": "/items/7"}', "7"),
        ('{"pathParameters": {"id": "x y"}}', "x y"),
    ],
    ids=["plain", "path", "named"],
)
def test_parameters_of_a_route_come_from_wherever_the_payload_has_them(
    entry: str, payload: str, meant: str, tmp_path: Path
) -> None:
    made = deployed(tmp_path, "cloud3-functions", entry, PARAMETERS[entry])
    (made.root / "event.json").write_text(payload)
    done = made.json("invoke", "run", "--event", "event.json")
    assert meant in str(done.result["response"])
