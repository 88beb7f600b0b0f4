"""Convert the options of `generate` to entries, with checks and prompts."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from fabric.app.generate import OpenConfig
from fabric.cli.questions import Asks, OpenQuestion, Person, collect_answers
from fabric.config.schema.entries import RESOURCE_TYPES
from fabric.model.catalog import DEPLOYABLE_TRIGGERS, find_provider_facts, format_provider_title
from fabric.model.names import TriggerKind
from fabric.model.outcomes.json_struct import Json
from fabric.model.problems import FabricError, Problem, raise_if_any
from fabric.scaffold.generated import (
    NewEntry,
    build_new_function,
    find_text_complaint,
    find_variable_complaint,
    name_complaint,
    route_complaint,
    schedule_complaint,
    type_complaint,
)
from fabric.scaffold.templates import find_template
from fabric.scaffold.yaml_text import parse_leaf


class TriggerOption(NamedTuple):
    """An option for a field of one trigger kind. An `asked` one is also prompted for."""

    option: str
    kind: str
    field: str
    title: str
    check: Callable[[str], str]
    asked: bool = True
    needed: bool = False


TRIGGER_OPTIONS: Mapping[str, TriggerOption] = {
    "route": TriggerOption("--route", "http", "route", "Route", route_complaint),
    "schedule": TriggerOption(
        "--schedule", "cron", "schedule", "Schedule", schedule_complaint, needed=True
    ),
    "queue_name": TriggerOption("--queue-name", "queue", "queue", "Queue", find_text_complaint),
    "bucket": TriggerOption("--bucket", "storage", "bucket", "Bucket", find_text_complaint),
    "topic": TriggerOption("--topic", "pubsub", "topic", "Topic", find_text_complaint),
    "timezone": TriggerOption(
        "--timezone", "cron", "timezone", "", find_text_complaint, asked=False
    ),
    "storage_events": TriggerOption(
        "--event", "storage", "events", "", find_text_complaint, asked=False
    ),
    "sources": TriggerOption(
        "--source", "eventbus", "source", "", find_text_complaint, asked=False
    ),
    "detail_types": TriggerOption(
        "--detail-type", "eventbus", "detail-type", "", find_text_complaint, asked=False
    ),
}
_PATTERN = ("source", "detail-type")
GivenOptions = Mapping[str, str | tuple[str, ...]]


def build_function_entry(
    name: str, trigger: str, said: GivenOptions, opened: OpenConfig, person: Person
) -> NewEntry:
    """Build a function entry. `said` has the trigger options by name; empty ones were omitted."""
    given = {option: value for option, value in said.items() if value}
    name = _free_name(name, "functions", opened, person)
    kind = _choose_trigger(trigger, given, opened, person)
    _refuse_foreign(kind, given)
    return build_new_function("function", name, kind, _collect_fields(name, kind, given, person))


def build_worker_entry(name: str, queue: str, opened: OpenConfig, person: Person) -> NewEntry:
    _refuse_unsupported("queue", opened)
    name = _free_name(name, "functions", opened, person)
    default = f"{find_template('queue').fields['queue']}"
    question = OpenQuestion(
        "Queue", "--queue-name", queue, default, find_text_complaint, needed=True
    )
    return build_new_function(
        "worker", name, "queue", dict(collect_answers({"queue": question}, person))
    )


def build_resource_entry(
    name: str, kind: str, variable: str, opened: OpenConfig, person: Person
) -> NewEntry:
    name = _free_name(name, "resources", opened, person)
    default = "".join(sign if sign.isalnum() else "_" for sign in name).upper()
    default = default if not find_variable_complaint(f"{default}_URL") else "DATABASE"
    questions = {
        "type": OpenQuestion(
            "Type",
            "--type",
            kind,
            RESOURCE_TYPES[0],
            type_complaint,
            needed=True,
            choices=RESOURCE_TYPES,
        ),
        "connectionEnv": OpenQuestion(
            "Environment variable of the connection URL",
            "--connection-env",
            variable,
            f"{default}_URL",
            find_variable_complaint,
            needed=True,
        ),
    }
    return NewEntry("resource", "resources", name, dict(collect_answers(questions, person)))


def build_addon_entry(
    name: str, version: str, options: tuple[str, ...], opened: OpenConfig, person: Person
) -> NewEntry:
    name = _free_name(name, "addons", opened, person)
    question = OpenQuestion("Version (empty for none)", "--version", version, "", lambda _: "")
    fields: dict[str, Json] = {}
    if said := collect_answers({"version": question}, person)["version"]:
        fields["version"] = said
    if options:
        fields["options"] = _parse_options(options)
    return NewEntry("addon", "addons", name, fields)


def _parse_options(words: tuple[str, ...]) -> dict[str, Json]:
    """`KEY=VALUE` each: a number or flag of JSON, or text."""
    pairs = [word.partition("=") for word in words]
    for (key, equals, _), word in zip(pairs, words, strict=True):
        if not key or not equals:
            message = (
                f"invalid value for --option: `{word.partition('=')[0] or '='}` is not KEY=VALUE"
            )
            raise FabricError(
                Problem("usage/bad-value", message, "use KEY=VALUE, such as --option retries=3")
            )
        if [one for one, _, _ in pairs].count(key) > 1:
            raise FabricError(Problem("usage/bad-value", f"duplicate option: --option {key}"))
    return {key: parse_leaf(value).value for key, _, value in pairs}


def _free_name(name: str, section: str, opened: OpenConfig, person: Person) -> str:
    taken = {one.name: one.where for one in opened.overview.sections[section]}

    def find_complaint(text: str) -> str:
        return name_complaint(text) or (
            f"`{text}` already exists at {taken[text]}" if text in taken else ""
        )

    if name in taken:
        message = f"{section[:-1]} `{name}` already exists"
        where = taken[name]
        raise FabricError(Problem("usage/name-taken", message, "choose another name", where))
    if name and name_complaint(name):
        raise FabricError(Problem("usage/bad-name", f"`{name}`: {name_complaint(name)}"))
    question = OpenQuestion("Name", "NAME", name, "", find_complaint, needed=True)
    return collect_answers({"name": question}, person)["name"]


def _choose_trigger(trigger: str, given: GivenOptions, opened: OpenConfig, person: Person) -> str:
    """Choose the trigger: the option, the kind of the other options, http, or the user's choice."""
    kinds = {TRIGGER_OPTIONS[one].kind for one in given}
    told = trigger or (kinds.pop() if len(kinds) == 1 else "")
    if told:
        _refuse_unsupported(told, opened)
        return told
    choices = _list_supported_triggers(opened)
    question = OpenQuestion(
        "Trigger",
        "--trigger",
        "",
        "http",
        lambda _: "",
        needed=person.asks is not Asks.NOTHING,
        choices=choices,
    )
    return collect_answers({"trigger": question}, person)["trigger"]


def _list_supported_triggers(opened: OpenConfig) -> tuple[str, ...]:
    facts = find_provider_facts(opened.overview.provider)
    kinds = facts.triggers if facts else DEPLOYABLE_TRIGGERS
    return tuple(kind.value for kind in TriggerKind if kind in kinds)


def _refuse_unsupported(kind: str, opened: OpenConfig) -> None:
    choices = _list_supported_triggers(opened)
    if kind not in choices:
        provider = opened.overview.provider
        name = format_provider_title(provider) if provider else "all providers"
        message = f"unsupported trigger type for {name}: `{kind}`"
        hint = f"use one of {', '.join(choices)}"
        raise FabricError(Problem("usage/trigger-unsupported", message, hint))


def _refuse_foreign(kind: str, given: GivenOptions) -> None:
    """An option without effect is a slip."""
    problems = [
        Problem(
            "usage/foreign-option",
            f"{TRIGGER_OPTIONS[one].option} has no effect on triggers of type `{kind}`",
            f"use --trigger {TRIGGER_OPTIONS[one].kind}, or remove the option",
        )
        for one in given
        if TRIGGER_OPTIONS[one].kind != kind
    ]
    raise_if_any(problems)


def _collect_fields(name: str, kind: str, given: GivenOptions, person: Person) -> dict[str, Json]:
    template = find_template(kind).fields
    questions = {}
    for option, row in TRIGGER_OPTIONS.items():
        said = given.get(option, "")
        if row.kind == kind and row.asked and isinstance(said, str):
            default = f"GET:/{name}" if kind == "http" else f"{template[row.field]}"
            questions[row.field] = OpenQuestion(
                title=row.title,
                option=row.option,
                given=said,
                default=default,
                check=row.check,
                needed=row.needed,
            )
    fields: dict[str, Json] = dict(collect_answers(questions, person))
    rest = {option: one for option, one in given.items() if not TRIGGER_OPTIONS[option].asked}
    return fields | _list_given_fields(rest)


def _list_given_fields(given: GivenOptions) -> dict[str, Json]:
    """List the optional fields that were given. Two of them form a pattern."""
    for option, said in given.items():
        row = TRIGGER_OPTIONS[option]
        for text in (said,) if isinstance(said, str) else said:
            if complaint := row.check(text):
                raise FabricError(Problem("usage/bad-value", f"{row.option} `{text}`: {complaint}"))
    fields: dict[str, Json] = {
        TRIGGER_OPTIONS[option].field: said if isinstance(said, str) else list(said)
        for option, said in given.items()
    }
    pattern: dict[str, Json] = {key: fields.pop(key) for key in _PATTERN if key in fields}
    return {**fields, "pattern": pattern} if pattern else fields
