"""The output of a deploy command: one JSON object with the address of the service."""

import json
import math
from collections.abc import Sequence
from typing import NoReturn

from fabric.model.secrecy import REDACTED, is_secret_name
from fabric.model.task import Pairs
from fabric.providers.payloads import format_json
from fabric.system.schemas import find_misfits, format_misfits

SCHEMA = "deploy-answer"


def read_output(stdout: bytes) -> Pairs:
    """Return the outputs: always a `url`, and an `endpoint` if that address differs.

    Raises a ValueError whose message continues the words `its output`.
    """
    document = _parse_document(stdout)
    wrong = find_misfits(SCHEMA, document)
    if wrong:
        raise ValueError(f"is invalid: {format_misfits(wrong)}")
    texts = {name: _format_value(value) for name, value in document.items()}
    outputs = {"url": texts.get("endpoint", texts.get("url", "")), **texts}
    if outputs.get("endpoint") == outputs["url"]:
        del outputs["endpoint"]
    return tuple(outputs.items())


def _parse_document(stdout: bytes) -> dict[str, object]:
    if not stdout.strip():
        raise ValueError("is empty")
    try:
        document = json.loads(
            stdout.decode(),
            object_pairs_hook=_require_unique_keys,
            parse_constant=_refuse_constant,
            parse_float=_parse_finite,
        )
        format_json(document).encode()
    except RecursionError as error:
        raise ValueError("is nested too deeply") from error
    except UnicodeDecodeError as error:
        raise ValueError("is not UTF-8 text") from error
    except json.JSONDecodeError as error:
        raise ValueError(f"is not one JSON document ({error})") from error
    if not isinstance(document, dict):
        raise ValueError("is not a JSON object")  # noqa: TRY004 - an answer, not an argument
    return document


def _require_unique_keys(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
    document = dict(pairs)
    if len(document) < len(pairs):
        raise ValueError("contains a duplicate key")
    return document


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"contains {name}, which is not JSON")


def _parse_finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("contains a number that is too large")
    return number


def _format_value(value: object) -> str:
    return value if isinstance(value, str) else format_json(_redact_credentials(value))


def _redact_credentials(value: object) -> object:
    match value:
        case dict():
            return {
                name: REDACTED if is_secret_name(name) else _redact_credentials(item)
                for name, item in value.items()
            }
        case list():
            return [_redact_credentials(item) for item in value]
        case _:
            return value
