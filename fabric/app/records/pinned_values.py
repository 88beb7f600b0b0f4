"""The values of secrets at AWS that a config contains by version. Only deploys and calls read
them."""

import threading
from collections.abc import Iterable, Mapping
from typing import Protocol

from fabric.app.project.files import EnvPlace, build_client_environment
from fabric.app.project.placement import Placement
from fabric.model.late_values import fill_placeholders
from fabric.model.lookups import SecretPin, name_pin
from fabric.model.records.record import RecordRef
from fabric.model.secrets.secret import NO_SECRETS, Secret
from fabric.model.secrets.secret_pins import find_pins
from fabric.model.task import Pairs


class _Reader(Protocol):
    def read(self, pins: tuple[SecretPin, ...]) -> Secret[dict[SecretPin, str]]: ...


class PinnedValues:
    """Reads each secret once per run. Thread-safe."""

    def __init__(
        self, placements: Mapping[RecordRef, Placement], process: Mapping[str, str]
    ) -> None:
        self._placements = placements
        self._process = Secret(process)
        self._lock = threading.Lock()
        self._readers: dict[RecordRef, _Reader] = {}
        self._found: dict[RecordRef, frozenset[str]] = {}

    def read(self, ref: RecordRef, texts: Iterable[str]) -> Secret[dict[str, str]]:
        """Return the values of the secrets in texts, by the names of their placeholders."""
        pins = find_pins(*texts)
        if not pins:
            return Secret({})
        with self._lock:
            if ref not in self._readers:
                place = self._placements[ref].env_place
                self._readers[ref] = _open_reader(place, self._process.reveal())
            values = read_pins(self._readers[ref], pins)
            self._found[ref] = self._found.get(ref, frozenset()) | {*values.reveal().values()}
        return values

    def list_read(self, ref: RecordRef) -> Secret[frozenset[str]]:
        """Return all values that were read, which must not be printed."""
        found = self._found.get(ref)
        return Secret(found) if found else NO_SECRETS


def read_pinned_values(
    place: EnvPlace, process: Mapping[str, str], env: Pairs
) -> Secret[dict[str, str]]:
    """Read the secrets in the environment of a function for a call on this machine."""
    pins = find_pins(*(value for _, value in env))
    return read_pins(_open_reader(place, process), pins) if pins else Secret({})


def _open_reader(place: EnvPlace, process: Mapping[str, str]) -> _Reader:
    from fabric.system.aws_secrets import AwsSecretValues  # boto3, for few configs

    return AwsSecretValues(build_client_environment(place, process))


def read_pins(reader: _Reader, pins: tuple[SecretPin, ...]) -> Secret[dict[str, str]]:
    """Read secrets, and those in defaults that take effect."""
    found = {name_pin(pin): text for pin, text in reader.read(pins).reveal().items()}
    inner = find_pins(*found.values())
    if inner:
        known = read_pins(reader, inner).reveal()
        found = {name: fill_placeholders(text, known) for name, text in found.items()}
    return Secret(found)
