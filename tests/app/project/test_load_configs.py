"""Configs through the command line: what is needed, what is bound, what is refused and where."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from fabric.model.catalog import PROVIDER_IDS
from tests.support.in_process import project
from tests.support.project import Done, Project, handler

SECONDS = 10
HEAD = "service: s\nprovider: {name: PROVIDER, runtime: python3.11}\n"


def of(folder: Path, function: str = "", top: str = "", provider: str = "cloud1-lambda") -> Project:
    """One function with these extra lines, and these lines at the top."""
    config = HEAD.replace("PROVIDER", provider) + top
    config += f"functions:\n  - name: f\n    entry: f.py\n{function}"
    return project(folder, config, {"f.py": handler("f")})


def codes(done: Done) -> set[str]:
    return {one["code"] for one in done.error["problems"]}


def triggers(done: Done) -> list[dict[str, Any]]:
    found = done.result["services"][0]["functions"][0]["triggers"]
    assert isinstance(found, list)
    return found


@pytest.mark.parametrize("key", ["service", "provider", "name", "runtime", "functions"])
def test_missing_required_key_is_named(key: str, tmp_path: Path) -> None:
    made = of(tmp_path)
    lines = {
        "service": "service: s\n",
        "provider": "provider: {name: cloud1-lambda, runtime: python3.11}\n",
        "name": "name: cloud1-lambda, ",
        "runtime": ", runtime: python3.11",
        "functions": "functions:\n  - name: f\n    entry: f.py\n",
    }
    text = (made.root / "fabric.yml").read_text()
    made.write({"fabric.yml": text.replace(lines[key], "", 1)})
    done = made.json("plan")
    assert done.code == 65
    assert any(key in one["message"] for one in done.error["problems"])


@pytest.mark.parametrize("provider", PROVIDER_IDS)
def test_every_provider_is_accepted(provider: str, tmp_path: Path) -> None:
    trigger = "    triggers: [{type: http, route: 'GET:/x'}]\n"
    done = of(tmp_path, trigger, provider=provider).json("plan")
    assert done.result["services"][0]["provider"] == provider


def test_bindings_are_filled_from_the_environment_then_from_the_default(tmp_path: Path) -> None:
    trigger = "    triggers: [{type: queue, queue: 'q-${env:Q,none}-${stage}'}]\n"
    made = of(tmp_path, trigger)
    queues = [
        triggers(made.json("plan", env=env))[0]["queue"] for env in ({}, {"Q": "x"}, {"Q": ""})
    ]
    assert queues == ["q-none-dev", "q-x-dev", "q--dev"]
    made.write({".env": "Q=file\nFABRIC_STAGE=prod\n"})
    assert triggers(made.json("plan"))[0]["queue"] == "q-file-dev"
    assert triggers(made.json("plan", env={"Q": "x"}))[0]["queue"] == "q-x-dev"


def test_a_variable_that_is_not_set_is_named_with_its_place(tmp_path: Path) -> None:
    made = of(tmp_path, "    env: {KEY: '${env:MISSING_ONE}'}\n")
    done = made.json("plan")
    assert done.code == 65
    assert "MISSING_ONE" in done.error["message"]
    assert done.error["where"]["line"] == 6


def test_layers_are_resolved_and_shown(tmp_path: Path) -> None:
    top = "layers: [{name: tools, arn: '${env:ARN,arn:x:layer}', version: '${env:V,7}'}]\n"
    made = of(tmp_path, "    layers: [tools]\n", top)
    [function] = made.json("plan").result["services"][0]["functions"]
    assert function["layers"] == ["arn:x:layer:7"]
    made.write({"fabric.yml": (made.root / "fabric.yml").read_text().replace("[tools]", "[tolos]")})
    done = made.json("plan")
    assert done.code == 65
    assert "tolos" in done.error["message"]


def test_layers_on_unsupported_providers_only_warn(tmp_path: Path) -> None:
    top = "layers: [{name: tools, arn: 'arn:x:layer', version: 7}]\n"
    done = of(tmp_path, "    layers: [tools]\n", top, "edge1-workers").json("plan")
    assert done.result["services"][0]["warnings"]


def test_a_stage_overlay_is_laid_on(tmp_path: Path) -> None:
    overlay = "stages: {prod: {functions: {f: {triggers: [{type: queue, queue: big}]}}}}\n"
    made = of(tmp_path, "    triggers: [{type: queue, queue: small}]\n", overlay)
    assert triggers(made.json("plan"))[0]["queue"] == "small"
    assert triggers(made.json("plan", "--stage", "prod"))[0]["queue"] == "big"


GOOD: Mapping[str, tuple[str, str, dict[str, Any]]] = {
    "route": ("cloud1-lambda", "{type: http, route: 'GET:/x'}", {"method": "GET", "path": "/x"}),
    "any": (
        "cloud1-lambda",
        "{type: http, method: ANY, path: /x}",
        {"method": "ANY", "path": "/x"},
    ),
    "rate": ("cloud1-lambda", "{type: cron, schedule: rate(1 hour)}", {"type": "cron"}),
    "cron": ("cloud1-lambda", "{type: cron, schedule: '*/5 * * * *'}", {"type": "cron"}),
    "queue": (
        "cloud1-lambda",
        "{type: queue, queue: q, batchSize: 5, functionResponseType: ReportBatchItemFailures}",
        {"queue": "q", "batchSize": 5, "functionResponseType": "ReportBatchItemFailures"},
    ),
    "storage": (
        "cloud1-lambda",
        "{type: storage, bucket: box, events: ['objstore1:ObjectCreated:*'], prefix: in/}",
        {"bucket": "box", "prefix": "in/"},
    ),
    "eventbus": (
        "cloud1-lambda",
        "{type: eventbus, pattern: {source: [orders]}}",
        {"pattern": {"source": ["orders"]}},
    ),
    "pubsub": (
        "cloud2-functions",
        "{type: pubsub, topic: t, subscription: s}",
        {"topic": "t", "subscription": "s"},
    ),
}


@pytest.mark.parametrize("name", GOOD)
def test_a_trigger_is_shown_in_the_plan(name: str, tmp_path: Path) -> None:
    provider, trigger, wanted = GOOD[name]
    [shown] = triggers(of(tmp_path, f"    triggers: [{trigger}]\n", provider=provider).json("plan"))
    assert wanted.items() <= shown.items()


BAD = {
    "a batch of none": ("cloud1-lambda", "{type: queue, queue: q, batchSize: 0}", "batchSize"),
    "a batch of words": ("cloud1-lambda", "{type: queue, queue: q, batchSize: x}", "batchSize"),
    "a big batch": ("cloud1-lambda", "{type: queue, queue: q, batchSize: 100}", "indow"),
    "an answer": ("cloud1-lambda", "{type: queue, queue: q, functionResponseType: X}", "Report"),
    "no bucket": ("cloud1-lambda", "{type: storage, events: [created]}", "bucket"),
    "no schedule": ("cloud1-lambda", "{type: cron, schedule: ''}", "schedule"),
    "no minutes": ("cloud1-lambda", "{type: cron, schedule: rate(0 minutes)}", "n ≥ 1"),
    "no pattern": ("cloud1-lambda", "{type: eventbus}", "pattern"),
    "no topic": ("cloud2-functions", "{type: pubsub}", "topic"),
    "unknown type": ("cloud1-lambda", "{type: htpt}", "htpt"),
    "not on edge1": ("edge1-workers", "{type: pubsub, topic: t}", "edge1-workers"),
    "logstream": ("cloud1-lambda", "{type: logstream, topic: t, brokers: [b]}", "cloud1-lambda"),
    "amqp": ("cloud1-lambda", "{type: amqp, queue: q}", "cloud1-lambda"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_trigger_that_cannot_be_is_refused_by_name(name: str, tmp_path: Path) -> None:
    provider, trigger, named = BAD[name]
    done = of(tmp_path, f"    triggers: [{trigger}]\n", provider=provider).json("plan")
    assert done.code == 65, done
    said = " ".join(one["message"] + one["hint"] for one in done.error["problems"])
    assert named in said


def test_a_capability_that_is_missing_names_function_trigger_and_provider(tmp_path: Path) -> None:
    trigger = "    triggers: [{type: pubsub, topic: t}]\n"
    message = of(tmp_path, trigger, provider="edge1-workers").json("plan").error["message"]
    assert all(word in message for word in ("`f`", "pubsub", "edge1-workers"))


EXTENSION = "extensions: {cloud1-lambda: {region: eu-1, roleArn: 'arn:r', iam: {role: "


def test_the_extension_of_cloud1_is_checked_for_its_types(tmp_path: Path) -> None:
    statements = "{statements: [{effect: Allow, actions: [a], resources: [r]}]}}}}\n"
    assert of(tmp_path / "good", top=EXTENSION + statements).json("plan").code == 0
    for number, wrong in enumerate(("{statements: yes}}}}\n", "{statements: [{effect: 3}]}}}}\n")):
        done = of(tmp_path / str(number), top=EXTENSION + wrong).json("plan")
        assert done.code == 65, wrong


@pytest.mark.parametrize(
    ("backend", "code"),
    [
        ("{kind: local}", 0),
        ("{kind: sql, sqlTable: t}", 0),
        ("{kind: objstore1, objstore1Bucket: b, objstore1Prefix: p, lockTable: t}", 0),
        ("{kind: objstore2, objstore2Bucket: b}", 0),
        ("{kind: objstore3, objstore3Container: c}", 0),
        ("{kind: floppy}", 65),
        ("{kind: local, lokTable: t}", 65),
    ],
)
def test_backend_kind_is_validated(backend: str, code: int, tmp_path: Path) -> None:
    assert of(tmp_path, top=f"backend: {backend}\n").json("plan").code == code


def test_every_wrong_line_is_reported_at_once_with_its_place(tmp_path: Path) -> None:
    wrong = [
        "service: 'no good'",
        "provder: {}",
        "provider: {name: cloud9, runtime: cobol}",
        "backend: {kind: floppy}",
        "functions:",
        "  - {name: 'a b', entry: ../out.py}",
        "  - {name: c, entry: c.py, memroy: 1}",
        "  - {name: d, entry: d.py, memory: lots}",
        "  - {name: d, entry: e.py, triggers: [{type: cron, schedule: never}]}",
        "  - {name: g, entry: '${env:NOT_SET}'}",
        "nonsense: true",
    ]
    done = project(tmp_path, "\n".join(wrong) + "\n", {}).json("plan")
    assert done.code == 65
    places = {one["where"]["line"] for one in done.error["problems"]}
    assert places >= {1, 2, 3, 4, 6, 7, 8, 9, 10, 11}
    assert all(one["where"]["column"] > 0 for one in done.error["problems"])


BOMB = "\n".join(
    ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
)
MERGES = "\n".join(
    ["m0: &m0 {x: 1}"]
    + [f"m{n}: &m{n} {{<<: [{', '.join([f'*m{n - 1}'] * 9)}]}}" for n in range(1, 12)]
)
HOSTILE = {
    "deep lists": b"[" * 200_000,
    "deep maps": b"{a: " * 50_000,
    "alias bomb": BOMB.encode(),
    "merge bomb": MERGES.encode(),
    "NUL": b"service: a\0b\n",
    "not UTF-8": b"service: \xff\xfe\xfa\n",
    "binary": bytes(range(256)) * 40,
    "empty": b"",
    "a list": b"- service\n",
    "two documents": b"service: a\n---\nservice: b\n",
    "a python object": b"service: !!python/object/apply:os.system ['true']\n",
    "endless text": b"service: " + b"x" * 3_000_000,
}


@pytest.mark.timeout(60)
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_config_is_refused_quickly_and_in_words(name: str, tmp_path: Path) -> None:
    made = project(tmp_path)
    (made.root / "fabric.yml").write_bytes(HOSTILE[name])
    done = made.json("plan")
    assert done.code == 65
    assert {one.partition("/")[0] for one in codes(done)} <= {"config", "input"}
    assert "Traceback" not in done.err + done.out
    assert len(done.out) < 20_000


def test_config_that_is_not_a_regular_file_is_reported(tmp_path: Path) -> None:
    error = project(tmp_path).json("plan", "-c", "/dev/null").error
    assert error["code"] == "config/not-found"
    assert error["message"] == "/dev/null is not a regular file"


@pytest.mark.parametrize("provider", ["aws", "google", "azure"])
def test_a_config_of_the_serverless_framework_is_named(tmp_path: Path, provider: str) -> None:
    made = project(tmp_path)
    text = f"service: a\nprovider:\n  name: {provider}\n  runtime: nodejs22.x\n"
    made.write({"serverless.yml": text})
    error = made.json("plan", "-c", "serverless.yml").error
    assert error["code"] == "config/looks-like-serverless"
    assert error["hint"] == "run: fabric import serverless.yml"
    assert error["where"]["line"] == 3


def test_a_directory_of_the_serverless_framework_is_named(tmp_path: Path) -> None:
    made = project(tmp_path)
    (made.root / "fabric.yml").unlink()
    made.write({"serverless.yml": "service: a\nprovider: {name: aws}\n"})
    for command in ("plan", "validate", "deploy"):
        done = made.json(command)
        assert (done.code, done.error["code"]) == (65, "config/looks-like-serverless")
        assert done.error["hint"] == "run: fabric import serverless.yml"
    made.write({"wrangler.toml": 'name = "a"\n'})
    (made.root / "serverless.yml").unlink()
    assert made.json("plan").error["code"] == "config/not-found"


@pytest.mark.parametrize(
    ("name", "text", "tool"),
    [
        ("template.yaml", "Resources: {A: {Type: T, Properties: {B: !Ref C}}}\n", "AWS SAM"),
        ("template.yml", "Resources: {}\n", "AWS SAM"),
        ("vercel.json", '{"functions": {"api/a.js": {"memory": 128}}}', "Vercel"),
        ("netlify.toml", '[build]\n  publish = "dist"\n', "Netlify"),
        ("wrangler.toml", 'name = "a"\nmain = "src/a.js"\n', "Wrangler"),
        ("wrangler.jsonc", '{\n  // name\n  "name": "a"\n}\n', "Wrangler"),
    ],
)
def test_a_config_of_another_tool_is_named(name: str, text: str, tool: str, tmp_path: Path) -> None:
    made = project(tmp_path)
    made.write({name: text})
    error = made.json("plan", "-c", name).error
    assert (error["code"], error["hint"]) == ("config/other-tool", f"run: fabric import {name}")
    assert error["message"] == f"this is a config of {tool}"


def test_a_config_of_fabric_can_have_the_name_of_another_one(tmp_path: Path) -> None:
    made = project(tmp_path)
    made.write({"template.yaml": made.root.joinpath("fabric.yml").read_text()})
    assert made.json("validate", "-c", "template.yaml").code == 0
    made.write({"template.yaml": "service: !Ref A\n"})
    assert made.json("validate", "-c", "template.yaml").error["code"] == "config/tag"


@pytest.mark.parametrize(
    "other", ["template.yaml", "wrangler.jsonc", "vercel.json", "netlify.toml"]
)
def test_without_a_config_the_conversion_of_another_one_is_suggested(
    other: str, tmp_path: Path
) -> None:
    made = project(tmp_path)
    (made.root / "fabric.yml").unlink()
    made.write({other: "service: a\n"})
    error = made.json("plan").error
    assert error["code"] == "config/not-found"
    assert error["hint"] == f"convert {other} with: fabric import"
