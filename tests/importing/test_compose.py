"""serverless-compose.yml: parameters of services."""

from fabric.config.yaml.reader import read
from fabric.importing.compose import Composition, convert_params, read_composition

FILE = "serverless-compose.yml"


def compose(params: str) -> Composition:
    text = f"services:\n  orders:\n    path: orders\n    params: {{{params}}}\n"
    return read_composition(read(FILE, text.encode()).root, FILE)


def test_credentials_of_parameters_are_replaced() -> None:
    found = compose("apiToken: Hunter2, url: 'postgres://app:Hunter2@db/x', table: orders")
    params, lost = convert_params(found.services["orders"], {}, {})
    assert params == {"apiToken": "${env:API_TOKEN}", "url": "${env:URL}", "table": "orders"}
    assert lost == []
    assert [".".join(one.at.path) for one in found.notes] == [
        "services.orders.params.apiToken",
        "services.orders.params.url",
    ]
