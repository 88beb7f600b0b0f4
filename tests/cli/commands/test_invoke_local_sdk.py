"""An application of Express, wrapped by the handler SDK, bundled and called."""

import json
import zipfile
from pathlib import Path

import pytest

from tests.support import node_sdk
from tests.support.in_process import project
from tests.support.npm_packages import linked_copy
from tests.support.project import Project

pytestmark = pytest.mark.slow

CONFIG = """\
service: shop
provider: {name: cloud1-lambda, runtime: nodejs20.x}
functions:
  - name: api
    entry: src/api.mjs
    triggers: [{type: http, route: 'ANY:/api/{proxy+}'}]
"""
HEAD = """\
import express from "express";
const app = express().use(express.json());
app.get("/users/:id", (req, res) => {
  res.cookie("seen", "1").json({ id: req.params.id, ip: req.ip });
});
app.post("/users", (req, res) => res.status(201).json(req.body));
app.get("/fails", () => { throw new Error("mark"); });
app.get("/never", () => {});
app.use((error, req, res, next) => res.status(418).send(error.message));
"""
MODULE = 'import wrap from "fabric-handler";\n'
REQUIRED = 'const { handler: wrap } = require("fabric-handler");\n'
TAIL = 'wrap(app, { basePath: "/api" });\n'
SOURCES = {"src/api.mjs": f"{MODULE}{HEAD}export const handler = {TAIL}"}
FRAMEWORKS = ("@nestjs", "@fastify", "fastify*", "rxjs", "typescript", "express4")


@pytest.fixture
def shop(tmp_path: Path) -> Project:
    made = project(tmp_path, CONFIG, SOURCES)
    modules = made.root / "node_modules"
    linked_copy(node_sdk.packages(), modules, *FRAMEWORKS)
    node_sdk.copy_published(modules / "fabric-handler")
    return made


def answer(shop: Project, *words: str) -> dict[str, object]:
    found = shop.json("invoke", "local", *words).result["response"]
    assert isinstance(found, dict)
    return found


def test_an_application_answers_behind_its_route(shop: Project) -> None:
    found = answer(shop, "--path", "/api/users/7")
    assert (found["statusCode"], found["cookies"]) == (200, ["seen=1; Path=/"])
    assert json.loads(str(found["body"])) == {"id": "7", "ip": "127.0.0.1"}
    made = answer(shop, "--path", "/api/users", "--body", '{"name": "Zoë"}')
    assert (made["statusCode"], made["body"]) == (201, '{"name":"Zoë"}')
    failed = answer(shop, "--path", "/api/fails")
    assert (failed["statusCode"], failed["body"]) == (418, "mark")


def test_all_that_it_needs_is_in_the_bundle(shop: Project) -> None:
    shop.json("package", "--out", "made")
    (archive,) = (shop.root / "made").rglob("*.zip")
    names = zipfile.ZipFile(archive).namelist()
    assert [name for name in names if "node_modules" in name] == []


@pytest.mark.parametrize("build", ["{minify: true}", "{format: cjs}", "{external: ['*']}"])
def test_it_answers_however_it_is_built(build: str, shop: Project) -> None:
    shop.write({"fabric.yml": f"{CONFIG}build: {build}\n"})
    assert answer(shop, "--path", "/api/users/7")["statusCode"] == 200


def test_it_is_required_as_well(shop: Project) -> None:
    head = HEAD.replace('import express from "express"', 'const express = require("express")')
    shop.write({"src/api.cjs": f"{REQUIRED}{head}exports.handler = {TAIL}"})
    shop.write({"fabric.yml": CONFIG.replace(".mjs", ".cjs")})
    assert answer(shop, "--path", "/api/users/7")["statusCode"] == 200


def test_a_route_that_never_answers_is_the_answer_504(shop: Project) -> None:
    shop.write({"src/api.mjs": SOURCES["src/api.mjs"].replace('api" }', 'api", timeout: 50 }')})
    found = answer(shop, "--path", "/api/never")
    assert found["statusCode"] == 504
    assert "did not answer within 50 ms" in str(found["body"])


def test_event_of_another_type_is_reported_as_not_http(shop: Project) -> None:
    shop.write({"event.json": '{"Records": [{"eventSource": "aws:sqs"}]}'})
    done = shop.json("invoke", "local", "--event", "event.json")
    assert (done.code, done.error["code"]) == (1, "invoke/failed")
    assert "NotHttpEventError: an event of aws:sqs is not an HTTP event" in done.error["message"]
