"""What a converted config deploys, against what the other tools generate from the same source.

The JSON files are recorded output: of aws-sam-translator 1.115.0 for the template of AWS SAM, and
of `osls package` 3.63.2, a fork of the Serverless Framework 3, for the config of Serverless.
"""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.import_rows import rows_of_config, rows_of_template
from tests.support.imports import Conversion, from_sam, from_serverless

_FOLDER = Path(__file__).parent / "oracle"
_CODE = {f"src/{name}.js": "" for name in ("accept", "ship", "watch")}


@pytest.mark.parametrize(
    ("source", "recorded", "convert", "suffix"),
    [
        ("orders.sam.yaml", "orders.sam.json", from_sam, ""),
        ("orders.serverless.yml", "orders.serverless.json", from_serverless, "LambdaFunction"),
    ],
)
def test_functions_routes_and_triggers_are_the_same(
    source: str, recorded: str, convert: Callable[..., Conversion], suffix: str
) -> None:
    done = convert((_FOLDER / source).read_text(), _CODE)
    rows = rows_of_config(done.config)
    for phase, template in done.stacks.items():
        stack = done.extension["stack"][phase]
        rows |= rows_of_template(template, "", stack.get("parameters", {}))
    expected = rows_of_template(json.loads((_FOLDER / recorded).read_text()), suffix)
    assert {one for one in rows if one[0]} == {one for one in expected if one[0]}
    assert len(expected) > 20
    assert done.reasons() == []
