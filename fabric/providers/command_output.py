"""The output of a deploy command: one JSON object with the address of the service."""

import json
import math
from collections.abc import Sequence
from typing import NoReturn

from fabric.model.secrecy import REDACTED, looks_secret
from fabric.model.task import Pairs
from fabric.providers.payloads import as_json
from fabric.system.schemas import listed, misfits

SCHEMA = "deploy-answer"


def read_output(stdout: bytes) -> Pairs:
    """Return the outputs: always a `url`, and an `endpoint` if that address differs.

    Raises a ValueError whose message continues the words `its output`.
    """
    document = _document(stdout)
    wrong = misfits(SCHEMA, document)
    if wrong:
        raise ValueError(f"is invalid: {listed(wrong)}")
    texts = {name: _text(value) for name, value in document.items()}
    outputs = {"url": texts.get("endpoint", texts.get("url", "")), **texts}
    if outputs.get("endpoint") == outputs["url"]:
        del outputs["endpoint"]
    return tuple(outputs.items())


def _document(stdout: bytes) -> dict[str, object]:
    if not stdout.strip():
        raise ValueError("is empty")
    try:
        document = json.loads(
            stdout.decode(),
            object_pairs_hook=_unique,
            parse_constant=_refuse_constant,
            parse_float=_finite,
        )
        as_json(document).encode()
    except RecursionError as error:
        raise ValueError("is nested too deeply") from error
    except UnicodeDecodeError as error:
        raise ValueError("is not UTF-8 text") from error
    except json.JSONDecodeError as error:
        raise ValueError(f"is not one JSON document ({error})") from error
    if not isinstance(document, dict):
        raise ValueError("is not a JSON object")  # noqa: TRY004 - an answer, not an argument
    return document


def _unique(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
    document = dict(pairs)
    if len(document) < len(pairs):
        raise ValueError("contains a duplicate key")
    return document


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"contains {name}, which is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("contains a number that is too large")
    return number


def _text(value: object) -> str:
    return value if isinstance(value, str) else as_json(_without_credentials(value))


def _without_credentials(value: object) -> object:
    match value:
        case dict():
            return {
                name: REDACTED if looks_secret(name) else _without_credentials(item)
                for name, item in value.items()
            }
        case list():
            return [_without_credentials(item) for item in value]
        case _:
            return value
