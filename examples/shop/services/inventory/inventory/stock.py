"""The stock of one product."""

from pyshared.answers import json_answer

from . import shelves


def handler(event, context):
    product = event["pathParameters"]["id"]
    return json_answer(200, {"product": product, "count": shelves.count(product)})
