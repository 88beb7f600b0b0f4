"""Templates of AWS SAM to CloudFormation by the translator of AWS, without a network."""

import copy
from typing import Any

import boto3
from samtranslator.parser.parser import Parser
from samtranslator.translator.translator import Translator

_SESSION = boto3.Session(
    region_name="us-east-1", aws_access_key_id="x", aws_secret_access_key="x"
)
_PLACE = "s3://oracle/code.zip"
_LOCAL = ("CodeUri", "ContentUri", "DefinitionUri", "Location")


class _Managed(dict[str, str]):
    """Answers every name of a managed policy, which the service of AWS looks up."""

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and not name.startswith("arn:")

    def get(self, name: str, default: Any = None) -> Any:  # noqa: ANN401 - as a dict
        return f"arn:aws:iam::aws:policy/{name}" if name in self else default


def translate(template: dict[str, Any]) -> dict[str, Any]:
    """Translate a template. Local paths become places in a bucket, as `sam package` does."""
    made = copy.deepcopy(template)
    for one in made["Resources"].values():
        said = one.get("Properties") or {}
        if not str(one.get("Type", "")).startswith("AWS::Serverless::"):
            continue
        for key in _LOCAL:
            if isinstance(said.get(key), str):
                said[key] = _PLACE
        if one["Type"] == "AWS::Serverless::Function" and "InlineCode" not in said:
            said["CodeUri"] = _PLACE
        one["Properties"] = said
    (made.get("Globals") or {}).get("Function", {}).pop("CodeUri", None)
    values = {
        name: one.get("Default", (one.get("AllowedValues") or ["1"])[0])
        for name, one in (made.get("Parameters") or {}).items()
    }
    translator = Translator(_Managed(), Parser(), boto_session=_SESSION)
    done = translator.translate(made, values)
    assert isinstance(done, dict)
    return done
