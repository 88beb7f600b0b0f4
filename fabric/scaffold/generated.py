"""New functions, workers, resources and addons: from choices to config entries."""

import re
from collections.abc import Mapping

from msgspec import Struct

from fabric.config.schedule import ScheduleError, normalize_schedule
from fabric.config.schema.entries import RESOURCE_TYPES
from fabric.config.schema.function import ENV_NAME, FUNCTION_NAME
from fabric.config.schema.triggers import ROUTE
from fabric.model.outcomes.json_struct import Json
from fabric.scaffold.templates import find_template

# Devices of Windows, where no file can have these names; keys that every object of JavaScript has;
# what package managers and fabric itself keep for themselves.
_RESERVED = re.compile(
    r"con|prn|aux|nul|com[0-9]|lpt[0-9]|__proto__|constructor|prototype|node_modules|_+fabric"
    r"|__init__|__main__|__pycache__",
    re.IGNORECASE,
)


class NewEntry(Struct, frozen=True):
    """A new entry. A function has a `trigger` with `fields`."""

    # The command's word.
    noun: str
    section: str
    name: str
    fields: Mapping[str, Json]
    trigger: str = ""


def build_new_function(noun: str, name: str, trigger: str, said: Mapping[str, Json]) -> NewEntry:
    """Build a function entry. Omitted fields come from the kind's template."""
    fields: dict[str, Json] = {"type": trigger}
    fields |= {key: convert_to_json(value) for key, value in find_template(trigger).fields.items()}
    if trigger == "http":
        fields["route"] = f"GET:/{name}"
    return NewEntry(noun, "functions", name, fields | dict(said), trigger)


def convert_to_json(value: object) -> Json:
    """A template's value, as JSON has it."""
    if isinstance(value, Mapping):
        return {str(key): convert_to_json(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [convert_to_json(one) for one in value]
    if value is None or isinstance(value, str | int | float):
        return value
    raise TypeError(f"{type(value).__name__} is not JSON")


def name_complaint(name: str) -> str:
    """Return why a name cannot be used; empty if it can."""
    if not FUNCTION_NAME.fits(name):
        return f"must be {FUNCTION_NAME.rule}"
    if _RESERVED.fullmatch(name):
        return "this name is reserved"
    return ""


def route_complaint(route: str) -> str:
    return "" if ROUTE.fits(route) else f"must be {ROUTE.rule}"


def schedule_complaint(schedule: str) -> str:
    try:
        normalize_schedule(schedule)
    except ScheduleError as error:
        return f"{error}"
    return ""


def find_variable_complaint(name: str) -> str:
    return "" if ENV_NAME.fits(name) else f"must be {ENV_NAME.rule}"


def find_text_complaint(text: str) -> str:
    if not text.strip():
        return "must not be empty"
    return "" if text.isprintable() else "must not contain control characters"


def type_complaint(word: str) -> str:
    return "" if word in RESOURCE_TYPES else f"must be one of: {', '.join(RESOURCE_TYPES)}"
