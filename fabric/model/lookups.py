"""References of a config to values outside of the project, such as `${ssm:/shop/mail-url}`."""

import re
from enum import StrEnum

from msgspec import Struct
from msgspec import json as typed_json


class LookupKind(StrEnum):
    AWS = "aws"
    CFN = "cfn"
    CFN_EXPORT = "cfn-export"
    SECRETS_MANAGER = "secretsmanager"
    SSM = "ssm"
    TF = "tf"


# The label of the version that users of a secret get by default.
CURRENT = "AWSCURRENT"
_ARN = ".arn"
# How the names of late values begin that are secrets of a fixed version.
PINNED = "pinned:"
# What may follow the colon. Other words after `aws:` belong to IAM and CloudFormation.
LOOKUP_NAMES: dict[str, re.Pattern[str]] = {
    LookupKind.AWS: re.compile(r"accountId|region|partition"),
    # With another region as `us-east-1:network.Vpc`, which the config writes `cfn(us-east-1):…`.
    LookupKind.CFN: re.compile(r"(?:[a-z0-9-]+:)?[A-Za-z][A-Za-z0-9-]*\.[A-Za-z0-9]+"),
    LookupKind.CFN_EXPORT: re.compile(r"[A-Za-z0-9:_-]{1,255}"),
    # A name or an ARN, then `#KEY`, or as ECS writes it `:KEY:STAGE`, both optional.
    LookupKind.SECRETS_MANAGER: re.compile(
        r"(?P<secret>(?:arn:[a-z-]+:secretsmanager:[a-z0-9-]*:\d*:secret:)?[A-Za-z0-9/_+=.@-]+)"
        r"(?:#(?P<plain>[^\s${},]+)|(?::(?P<key>[^\s${},:#]*))?(?::(?P<label>[\w./+=@-]+))?)"
    ),
    LookupKind.SSM: re.compile(r"[A-Za-z0-9_./-]+(?::[A-Za-z0-9_.-]+)?"),
    LookupKind.TF: re.compile(r"[^\s${},#]+#[A-Za-z0-9_-]+"),
}
_ANYWHERE = re.compile(rf"\$\{{(?:{'|'.join(LookupKind)})(?:\([^()]*\))?:".encode())


class NamedLookup(Struct, frozen=True):
    """One reference: its kind, and the name of the value there."""

    kind: LookupKind
    name: str

    @property
    def text(self) -> str:
        region, colon, name = self.name.rpartition(":")
        if self.kind is LookupKind.CFN and colon:
            return f"${{cfn({region}):{name}}}"
        return f"${{{self.kind}:{self.name}}}"


class SecretName(Struct, frozen=True):
    """The parts of the name of a secret in AWS Secrets Manager."""

    secret: str
    # A key of the JSON in the secret; empty for the whole text.
    key: str = ""
    label: str = CURRENT

    @property
    def arn_owner(self) -> str:
        """Return the secret whose ARN is the value; empty if the value is the secret."""
        is_arn = self.secret.endswith(_ARN) and not self.key and self.label == CURRENT
        return self.secret.removesuffix(_ARN) if is_arn else ""


def parse_secret_name(name: str) -> SecretName:
    found = LOOKUP_NAMES[LookupKind.SECRETS_MANAGER].fullmatch(name)
    if found is None:
        return SecretName(name)
    key = found["plain"] or found["key"] or ""
    return SecretName(found["secret"], key, found["label"] or CURRENT)


class SecretPin(Struct, frozen=True, array_like=True):
    """A secret at AWS by its version: plans contain it, and only deploys read the value."""

    kind: LookupKind
    name: str
    version: str
    region: str = ""
    # The value of a JSON key that the secret does not have.
    default: str | None = None

    @property
    def source(self) -> str:
        """Return the secret without the JSON key, as plans and records show it."""
        if self.kind is LookupKind.SSM:
            return self.name
        found = parse_secret_name(self.name)
        return found.secret if found.label == CURRENT else f"{found.secret}:{found.label}"

    @property
    def text(self) -> str:
        return NamedLookup(self.kind, self.name).text


def name_pin(pin: SecretPin) -> str:
    """Name a pin among late values, in characters that a placeholder can contain."""
    return f"{PINNED}{typed_json.encode(pin).hex()}"


def parse_pin(name: str) -> SecretPin | None:
    """Parse the name of a late value; None if it is not a pin."""
    if not name.startswith(PINNED):
        return None
    return typed_json.decode(bytes.fromhex(name.removeprefix(PINNED)), type=SecretPin)


class LookupValue(Struct, frozen=True):
    """A value. Instead of the value of a secret at AWS, it has the version."""

    text: str
    is_secret: bool = False
    pin: SecretPin | None = None


class LookupPlace(Struct, frozen=True):
    """Where references are read: the region of the service. `names` are all of its config."""

    region: str = ""
    names: tuple[NamedLookup, ...] = ()


def has_references(text: bytes) -> bool:
    """Return whether a text might contain references, also in comments."""
    return _ANYWHERE.search(text) is not None
