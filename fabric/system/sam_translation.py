"""A template of AWS SAM to CloudFormation, by the translator of AWS: JSON in, JSON out.

Runs as a separate program, because the translator is not a requirement of fabric. Calls nothing.
"""

import json
import sys
from typing import Any

_PLACE = "s3://fabric/code.zip"
_LOCAL = ("CodeUri", "ContentUri", "DefinitionUri")
_TYPE = "AWS::Serverless::"


class _Managed(dict[str, str]):
    """Answers each name of a managed policy, which the service of AWS looks up."""

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and not name.startswith("arn:")

    def get(self, name: Any, default: Any = None) -> Any:
        return f"arn:aws:iam::aws:policy/{name}" if name in self else default


def _prepare(template: dict[str, Any]) -> dict[str, Any]:
    """Replace local paths by places in a bucket, as `sam package` does."""
    for one in template["Resources"].values():
        if not str(one.get("Type", "")).startswith(_TYPE):
            continue
        properties = one.setdefault("Properties", {}) or {}
        for key in _LOCAL:
            if isinstance(properties.get(key), str):
                properties[key] = _PLACE
        if one["Type"] == f"{_TYPE}Function" and "InlineCode" not in properties:
            properties["CodeUri"] = _PLACE
        one["Properties"] = properties
    (template.get("Globals") or {}).get("Function", {}).pop("CodeUri", None)
    return _split_attributes(template)  # type: ignore[no-any-return]


def _split_attributes(value: Any) -> Any:
    """Write `Fn::GetAtt` as a list, as the translator expects."""
    if isinstance(value, list):
        return [_split_attributes(one) for one in value]
    if not isinstance(value, dict):
        return value
    return {
        key: one.split(".", 1)
        if key == "Fn::GetAtt" and isinstance(one, str)
        else _split_attributes(one)
        for key, one in value.items()
    }


def _choose_value(parameter: dict[str, Any]) -> Any:
    allowed = parameter.get("AllowedValues") or ["1"]
    return parameter.get("Default", allowed[0])


def translate(template: dict[str, Any]) -> Any:
    from importlib import import_module

    boto3: Any = import_module("boto3")
    parser: Any = import_module("samtranslator.parser.parser")
    translator: Any = import_module("samtranslator.translator.translator")
    session = boto3.Session(
        region_name="us-east-1",
        aws_access_key_id="x",
        aws_secret_access_key="x",  # noqa: S106 - made up
    )
    values = {name: _choose_value(one) for name, one in (template.get("Parameters") or {}).items()}
    made = translator.Translator(_Managed(), parser.Parser(), boto_session=session)
    return made.translate(_prepare(template), values)


if __name__ == "__main__":
    json.dump(translate(json.load(sys.stdin)), sys.stdout)
