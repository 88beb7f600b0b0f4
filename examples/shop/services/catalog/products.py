"""The products: all of them, or one by its id."""

import json
from pathlib import Path

from pyshared.answers import json_answer

_PRODUCTS = json.loads((Path(__file__).parent / "data" / "products.json").read_text())


def handler(event, context):
    wanted = (event.get("pathParameters") or {}).get("id")
    if wanted is None:
        return json_answer(200, _PRODUCTS)
    found = next((product for product in _PRODUCTS if product["id"] == wanted), None)
    return json_answer(200, found) if found else json_answer(404, {"error": f"no {wanted}"})
