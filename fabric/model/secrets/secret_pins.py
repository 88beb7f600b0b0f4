"""Secrets at AWS in texts of a config: a placeholder contains the version, and not the value.

Keys, plans and records contain the placeholder or its hash. Deploys read exactly this version.
"""

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from fabric.model.late_values import find_late_names, format_placeholder
from fabric.model.lookups import LookupKind, SecretPin, name_pin, parse_pin, parse_secret_name
from fabric.model.task import Pairs

# How the settings of a function that contain the version of a secret begin.
_SETTING = "secret "
# The shown characters of a version.
_SHOWN = 8


def format_pin(pin: SecretPin) -> str:
    return format_placeholder(name_pin(pin))


def find_pins(*texts: str) -> tuple[SecretPin, ...]:
    names = dict.fromkeys(name for text in texts for name in find_late_names(text))
    return tuple(pin for pin in map(parse_pin, names) if pin is not None)


def list_secret_versions(texts: Iterable[str]) -> Pairs:
    """List the versions of the secrets in texts, as settings that records contain."""
    found = {f"{_SETTING}{pin.source}": pin.version for pin in find_pins(*texts)}
    return tuple(sorted(found.items()))


def find_secret_source(setting: str) -> str:
    """Return the secret whose version is in a setting; empty for other settings. The setting can
    begin with the name of a function."""
    owner, found, source = setting.partition(_SETTING)
    return source if found and (not owner or owner.endswith(".")) else ""


def has_secret_versions(settings: Pairs) -> bool:
    return any(name.startswith(_SETTING) for name, _ in settings)


def shorten_version(version: str) -> str:
    return version[:_SHOWN]


def with_versions(text: str, settings: Pairs) -> str:
    """Replace the versions of secrets by those of a record."""
    versions = {find_secret_source(name): version for name, version in settings}
    for pin in find_pins(text):
        version = versions.get(pin.source, pin.version)
        text = text.replace(format_pin(pin), format_pin(replace(pin, version=version)))
    return text


def list_recorded_texts(text: str, settings: Pairs) -> Iterator[str]:
    """List texts with the recorded versions of secrets that a variable can have had: the current
    text with each of them, and each as the whole text."""
    current = find_pins(text)
    regions = {"", dict(settings).get("region", ""), *(pin.region for pin in current)}
    for name, version in settings:
        source = find_secret_source(name)
        for kind in (LookupKind.SECRETS_MANAGER, LookupKind.SSM) if source else ():
            for region in sorted(regions):
                whole = SecretPin(kind, source, version, region)
                yield format_pin(whole)
                for pin in current:
                    moved = replace(whole, name=_rename(pin, source), default=pin.default)
                    yield text.replace(format_pin(pin), format_pin(moved))


def _rename(pin: SecretPin, source: str) -> str:
    """Return the name of another secret, with the same JSON key."""
    return source + pin.name.removeprefix(parse_secret_name(pin.name).secret)


def has_unread_values(text: str) -> bool:
    """Return whether a text waits for a value that only a deploy creates."""
    return any(parse_pin(name) is None for name in find_late_names(text))
