"""Secrets at AWS: their versions, which plans read, and their values, which only deploys read."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from fabric.model.lookups import (
    LookupKind,
    LookupValue,
    SecretName,
    SecretPin,
    parse_secret_name,
)
from fabric.model.problems import FabricError, Problem
from fabric.model.secrets.secret import Secret
from fabric.model.secrets.secret_pins import shorten_version
from fabric.system.aws_clients import (
    AwsClients,
    convert_call_error,
    run_parallel,
)
from fabric.system.cloud1_account import read_error_code

_MISSING = ("ResourceNotFoundException", "ParameterNotFound", "ParameterVersionNotFound")


def describe_secret(name: str, region: str, answer: Mapping[str, Any]) -> LookupValue | None:
    """Describe the version of a secret that a label marks, or return the ARN of the secret; None if
    no version has the label."""
    one = parse_secret_name(name)
    if one.arn_owner:
        return LookupValue(answer["ARN"])
    if answer.get("DeletedDate"):
        message = f"the secret `{one.secret}` is scheduled for deletion"
        hint = f"run: aws secretsmanager restore-secret --secret-id {one.secret}"
        raise FabricError(Problem("config/unresolved-reference", message, hint))
    versions = answer.get("VersionIdsToStages") or {}
    version = next((ident for ident, labels in versions.items() if one.label in labels), None)
    if version is None:
        return None
    pin = SecretPin(LookupKind.SECRETS_MANAGER, name, version, region)
    return LookupValue("", is_secret=True, pin=pin)


def describe_parameter(name: str, region: str, row: Mapping[str, Any]) -> LookupValue:
    """Return the value of a parameter, or the version of a `SecureString`."""
    if row["Type"] != "SecureString":
        return LookupValue(row["Value"])
    pin = SecretPin(LookupKind.SSM, name, str(row["Version"]), region)
    return LookupValue("", is_secret=True, pin=pin)


class AwsSecretValues:
    """Reads the values of secrets by their versions."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self._clients = AwsClients(env)
        # By region, kind, secret and version: several keys of one secret take one call.
        self._texts: dict[tuple[str, str, str, str], Secret[str]] = {}

    def read(self, pins: Sequence[SecretPin]) -> Secret[dict[SecretPin, str]]:
        """Read values side by side. Raises for the first that cannot be read."""
        missing = {_identify(pin): pin for pin in pins if _identify(pin) not in self._texts}
        for kind, region in sorted({(pin.kind, pin.region) for pin in missing.values()}):
            self._clients.open(kind, region)
        if missing:
            texts = run_parallel(self._fetch, list(missing.values()))
            self._texts.update(zip(missing, texts, strict=True))
        found = {pin: _select_key(pin, self._texts[_identify(pin)]) for pin in pins}
        return Secret({pin: value.reveal() for pin, value in found.items()})

    def _fetch(self, pin: SecretPin) -> Secret[str]:
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            if pin.kind is LookupKind.SSM:
                return self._fetch_parameter(pin)
            client = self._clients.open(pin.kind, pin.region)
            secret = parse_secret_name(pin.name).secret
            answer = client.get_secret_value(SecretId=secret, VersionId=pin.version)
        except (BotoCoreError, ClientError) as error:
            if isinstance(error, ClientError) and read_error_code(error) in _MISSING:
                raise FabricError(_missing_version_problem(pin)) from error
            raise convert_call_error(pin.text, error) from error
        if "SecretString" not in answer:
            message = f"the secret `{secret}` contains binary data, not text"
            hint = "store it as text (SecretString)"
            raise FabricError(Problem("config/unresolved-reference", message, hint))
        return Secret(answer["SecretString"])

    def _fetch_parameter(self, pin: SecretPin) -> Secret[str]:
        name = f"{pin.name.partition(':')[0]}:{pin.version}"
        client = self._clients.open(pin.kind, pin.region)
        return Secret(client.get_parameter(Name=name, WithDecryption=True)["Parameter"]["Value"])


def _missing_version_problem(pin: SecretPin) -> Problem:
    message = f"version {shorten_version(pin.version)} of `{pin.text}` no longer exists"
    hint = "run the command again, which reads the current version"
    return Problem("config/unresolved-reference", message, hint)


def _identify(pin: SecretPin) -> tuple[str, str, str, str]:
    is_parameter = pin.kind is LookupKind.SSM
    owner = pin.name.partition(":")[0] if is_parameter else parse_secret_name(pin.name).secret
    return pin.region, pin.kind, owner, pin.version


def _select_key(pin: SecretPin, text: Secret[str]) -> Secret[str]:
    """Select the key of the JSON in a secret, or its default."""
    one = parse_secret_name(pin.name) if pin.kind is LookupKind.SECRETS_MANAGER else SecretName("")
    if not one.key:
        return text
    try:
        value = json.loads(text.reveal()).get(one.key)
    except (ValueError, AttributeError):
        value = None
    if value is not None:
        return Secret(value if isinstance(value, str) else json.dumps(value))
    if pin.default is not None:
        return Secret(pin.default)
    shown = pin.text
    message = f"`{shown}` does not exist and has no default"
    hint = f"add the key `{one.key}` to the JSON of the secret, or write {shown[:-1]},default}}"
    raise FabricError(Problem("config/unresolved-reference", message, hint))
