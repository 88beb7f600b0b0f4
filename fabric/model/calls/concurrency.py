"""A function's concurrency as it is hashed, and as records say it."""

import re

# Keys of what is live are made over this form: another one would deploy everything anew.
_HASHED = re.compile(r"\((None|\d+), (None|\d+)\)")
_SETTING = "concurrency"


def encode_concurrency(reserved: int | None, provisioned: int | None) -> str:
    return repr((reserved, provisioned))


def format_settings(settings: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """Format settings such as `reserved=5`. Older records with another form give the same text."""
    return tuple(
        (name, _upgrade_concurrency(value) if name == _SETTING else value)
        for name, value in settings
    )


def parse_concurrency(text: str) -> tuple[int | None, int | None]:
    """Parse reserved and provisioned concurrency from `reserved=5,provisioned=1`."""
    counts = dict(part.split("=", 1) for part in text.split(",") if "=" in part)
    reserved, provisioned = counts.get("reserved"), counts.get("provisioned")
    return int(reserved) if reserved else None, int(provisioned) if provisioned else None


def _upgrade_concurrency(text: str) -> str:
    found = _HASHED.fullmatch(text)
    if found is None:
        return text
    both = zip(("reserved", "provisioned"), found.groups(), strict=True)
    return ",".join(f"{name}={count}" for name, count in both if count != "None")
