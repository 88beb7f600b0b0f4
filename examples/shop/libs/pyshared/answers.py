"""Answers of http functions."""

import json
from typing import Any


def json_answer(status: int, value: Any) -> dict[str, Any]:
    return {
        "statusCode": status,
        "headers": {"content-type": "application/json"},
        "body": json.dumps(value),
    }
