"""Receipts that were deleted come again, and what is ignored changes nothing."""

import json
from pathlib import Path

from tests.support.in_process import project
from tests.support.project import service

LAYERS = "layers: [{name: shared, arn: 'arn:aws:lambda:eu-west-1:1:layer:shared:%d'}]\n"


def test_a_lost_receipt_is_written_again_by_a_deploy_with_nothing_to_do(tmp_path: Path) -> None:
    made = project(tmp_path)
    made.json("deploy")
    receipt = made.root / ".fabric/dev.json"
    told = json.loads(receipt.read_text())
    for _ in range(2):  # stage 0 has an answer by the second time
        assert made.json("deploy").result["deployments"][0]["status"] == "unchanged"
    receipt.unlink()
    assert made.json("deploy").result["deployments"][0]["status"] == "unchanged"
    assert json.loads(receipt.read_text()) == told


def test_existing_receipt_is_left_unchanged(tmp_path: Path) -> None:
    made = project(tmp_path)
    made.json("deploy")
    receipt = made.root / ".fabric/dev.json"
    document = json.loads(receipt.read_text())
    document["deployments"][0]["endpoint"] = "https://changed.test"
    receipt.write_text(json.dumps(document))
    made.json("deploy")
    assert json.loads(receipt.read_text()) == document


def test_layers_that_a_provider_ignores_deploy_nothing(tmp_path: Path) -> None:
    made = project(tmp_path)
    text = service("shop", "one").replace("cloud1-lambda", "cloud2-functions")
    text = text.replace("entry: one.py}", "entry: one.py, layers: [shared]}")
    made.write({"fabric.yml": text + LAYERS % 1, "one.py": "def handler(e, c):\n    return 1\n"})
    assert made.json("deploy").result["deployments"][0]["status"] == "deployed"
    made.write({"fabric.yml": text + LAYERS % 2})
    done = made.json("deploy")
    assert done.result["deployments"][0]["status"] == "unchanged"
