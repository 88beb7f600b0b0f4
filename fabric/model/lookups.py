"""References of a config to values outside of the project, such as `${ssm:/shop/mail-url}`."""

import re
from enum import StrEnum

from msgspec import Struct


class LookupKind(StrEnum):
    AWS = "aws"
    CFN = "cfn"
    CFN_EXPORT = "cfn-export"
    SECRETS_MANAGER = "secretsmanager"
    SSM = "ssm"
    TF = "tf"


# What may follow the colon. Other words after `aws:` belong to IAM and CloudFormation.
LOOKUP_NAMES: dict[str, re.Pattern[str]] = {
    LookupKind.AWS: re.compile(r"accountId|region|partition"),
    # With another region as `us-east-1:network.Vpc`, which the config writes `cfn(us-east-1):…`.
    LookupKind.CFN: re.compile(r"(?:[a-z0-9-]+:)?[A-Za-z][A-Za-z0-9-]*\.[A-Za-z0-9]+"),
    LookupKind.CFN_EXPORT: re.compile(r"[A-Za-z0-9:_-]{1,255}"),
    LookupKind.SECRETS_MANAGER: re.compile(r"[A-Za-z0-9/_+=.@:-]+(?:#[^\s${},]+)?"),
    LookupKind.SSM: re.compile(r"[A-Za-z0-9_./-]+(?::[A-Za-z0-9_.-]+)?"),
    LookupKind.TF: re.compile(r"[^\s${},#]+#[A-Za-z0-9_-]+"),
}
_ANYWHERE = re.compile(rf"\$\{{(?:{'|'.join(LookupKind)})(?:\([^()]*\))?:".encode())


class LookupValue(Struct, frozen=True):
    text: str
    is_secret: bool = False


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


class LookupPlace(Struct, frozen=True):
    """Where references are read: the region of the service. `names` are all of its config."""

    region: str = ""
    names: tuple[NamedLookup, ...] = ()


def has_references(text: bytes) -> bool:
    """Return whether a text might contain references, also in comments."""
    return _ANYWHERE.search(text) is not None
