"""The example shop: every function is built, loads from its archive alone and answers."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from fabric.model.task_inputs import BuildInputs
from fabric.runtimes.build import Runtimes
from fabric.runtimes.contract import Built
from fabric.runtimes.nodejs.toolchain import find_node
from tests.support.bundler_cache import ENVIRONMENT, real_runtimes

SHOP = Path(__file__).parents[2] / "examples" / "shop"
NODE = """
const [module, name] = process.argv[1].split(/\\.(?=[^.]+$)/);
Promise.resolve(require(`${process.cwd()}/${module}`)[name](JSON.parse(process.argv[2])))
  .then((answer) => console.log(JSON.stringify(answer)));
"""
PYTHON = """
import importlib, json, sys
sys.path.insert(0, "")
module, _, name = sys.argv[1].rpartition(".")
handler = getattr(importlib.import_module(module.replace("/", ".")), name)
print(json.dumps(handler(json.loads(sys.argv[2]), None)))
"""
ORDER = {"user": "ada", "lines": [{"product": "tea", "price": 490, "quantity": 2}]}
RESERVATIONS = [{"product": "tea", "quantity": 1}, {"product": "pot", "quantity": 99}]
EVENTS: dict[str, dict[str, Any]] = {
    "auth/login": {"body": json.dumps({"user": "ada"})},
    "auth/whoami": {"headers": {"authorization": "Bearer nobody.0"}},
    "catalog/products": {"pathParameters": {"id": "tea"}},
    "catalog/import": {"Records": [{"objstore1": {"object": {"key": "new.csv"}}}]},
    "cart/add": {
        "pathParameters": {"user": "ada"},
        "body": json.dumps({"product": "tea", "quantity": 1}),
    },
    "cart/show": {"pathParameters": {"user": "ada"}},
    "inventory/reserve": {
        "Records": [
            {"messageId": str(number), "body": json.dumps(order)}
            for number, order in enumerate(RESERVATIONS)
        ]
    },
    "inventory/stock": {"pathParameters": {"id": "mug"}},
    "pricing/quote": {"body": json.dumps(ORDER)},
    "checkout/place": {"body": json.dumps(ORDER)},
    "checkout/confirm": {"Records": [{"messageId": "1", "body": '{"order": "o-1"}'}]},
    "storefront/home": {"queryStringParameters": {"name": "<Ada>"}},
}
ANSWERS = {
    "auth/login": '"statusCode": 200',
    "auth/whoami": '"statusCode": 401',
    "catalog/products": "Green tea",
    "catalog/import": '{"imported": ["new.csv"]}',
    "cart/add": '"statusCode": 201',
    "cart/show": "0.00 EUR",
    "cart/sweep": '{"dropped": 0}',
    "inventory/reserve": '{"batchItemFailures": [{"itemIdentifier": "1"}]}',
    "inventory/stock": '\\"count\\": 12',
    "pricing/quote": "9.80 EUR",
    "pricing/refresh": "{}",
    "checkout/place": '"statusCode": 202',
    "checkout/confirm": '{"confirmed": ["o-1"]}',
    "storefront/home": "Welcome, &lt;Ada&gt;",
    "storefront/health": '"statusCode": 200',
}


def functions() -> Iterator[BuildInputs]:
    compose = yaml.safe_load((SHOP / "fabric.compose.yml").read_text())
    for service in compose["services"]:
        file = SHOP / service["config"]
        config = yaml.safe_load(file.read_text())
        for function in config["functions"]:
            yield BuildInputs(
                service=config["service"],
                function=function["name"],
                root=str(file.parent.relative_to(SHOP)),
                entry=function["entry"],
                runtime=config["provider"]["runtime"],
                include=tuple(function.get("include", ())),
            )


@pytest.fixture(scope="module")
def runtimes() -> Iterator[Runtimes]:
    made = real_runtimes()
    yield made
    made.close()


def answer_of(built: Built, inputs: BuildInputs, folder: Path) -> str:
    for file in built.files:
        path = folder / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(file.content)
    event = json.dumps(EVENTS.get(f"{inputs.service}/{inputs.function}", {}))
    program = (
        [sys.executable, "-I", "-c", PYTHON]
        if inputs.runtime.startswith("python")
        else [str(find_node(ENVIRONMENT)), "-e", NODE]
    )
    command = [*program, built.handler, event]
    done = subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return json.dumps(json.loads(done.stdout))


@pytest.mark.parametrize("inputs", functions(), ids=lambda item: f"{item.service}/{item.function}")
def test_every_function_of_the_shop_answers(
    inputs: BuildInputs, tmp_path: Path, runtimes: Runtimes
) -> None:
    built = runtimes.build(SHOP, inputs)
    assert not built.warnings
    assert ANSWERS[f"{inputs.service}/{inputs.function}"] in answer_of(built, inputs, tmp_path)


def test_shared_module_is_an_input_only_of_functions_that_import_it(runtimes: Runtimes) -> None:
    users = {
        f"{inputs.service}/{inputs.function}"
        for inputs in functions()
        if "libs/shared/money.ts" in runtimes.build(SHOP, inputs).seen.files
    }
    assert users == {"cart/show", "pricing/quote", "checkout/place"}
