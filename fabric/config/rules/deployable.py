"""Problems that prevent a plan or a deploy although the config loads. Local runs ignore them."""

import json
from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from fabric.config.rules.env_size import find_oversized
from fabric.config.rules.locations import BACKEND, build_trigger_pointer
from fabric.config.values import (
    AmqpTrigger,
    Config,
    ConfigPlace,
    CronTrigger,
    EventbusTrigger,
    Function,
    HttpTrigger,
    LogstreamTrigger,
    PubsubTrigger,
    Trigger,
)
from fabric.model.backends import back_end_facts
from fabric.model.catalog import find_provider_facts, format_provider_title
from fabric.model.names import DEFAULT_ROUTE, TriggerKind
from fabric.model.problems import Place, Problem


def plan_problems(config: Config) -> tuple[Problem, ...]:
    """Return why this config cannot be planned; empty if it can."""
    found = [
        *config.document.unplannable,
        *_place_problems(config, BACKEND, _find_backend_problems(config)),
        *(
            problem
            for pointer, found in find_oversized(config)
            for problem in _place_problems(config, pointer, [found])
        ),
        *(
            problem
            for function in config.functions
            for number, trigger in enumerate(function.triggers)
            for problem in _place_problems(
                config,
                build_trigger_pointer(function.name, number),
                _find_trigger_problems(config, function, trigger),
            )
        ),
    ]
    return tuple(found)


def _place_problems(config: Config, pointer: str, problems: Iterable[Problem]) -> Iterator[Problem]:
    """Add the place of a setting to problems, or only the file if unknown."""
    for problem in problems:
        spot = next((one for one in config.document.locations if one.pointer == pointer), None)
        spot = spot or ConfigPlace(pointer, Place(config.document.file))
        yield replace(problem, where=spot.where, frame=spot.frame)


def _find_backend_problems(config: Config) -> Iterator[Problem]:
    needed = back_end_facts(config.backend.kind).needed
    if needed and needed not in dict(config.backend.settings):
        message = f"`backend.{needed}` is required for backend `{config.backend.kind}`"
        yield Problem("config/missing-key", message)


def _find_trigger_problems(
    config: Config, function: Function, trigger: Trigger
) -> Iterator[Problem]:
    match trigger:
        case LogstreamTrigger() | AmqpTrigger() if not _can_read(config, trigger):
            yield _trigger_support_problem(config, function, _get_kind(trigger))
        case _:
            pass
    for key in _list_missing_fields(trigger):
        message = (
            f"`{key}` is required in the {_get_kind(trigger)} trigger of function `{function.name}`"
        )
        yield Problem("config/missing-key", message)


def _can_read(config: Config, trigger: LogstreamTrigger | AmqpTrigger) -> bool:
    """Return whether the provider supports the event source. AWS needs to know how to reach it."""
    if not _takes_options(config):
        return False
    is_stream = isinstance(trigger, LogstreamTrigger) and bool(trigger.stream)
    return is_stream or not _BROKERS.isdisjoint(_list_options(trigger))


_BROKERS = frozenset(("access", "broker", "cluster"))


def _takes_options(config: Config) -> bool:
    facts = find_provider_facts(config.provider.id)
    return facts is not None and facts.traits.takes_trigger_options


def _list_options(trigger: LogstreamTrigger | AmqpTrigger) -> frozenset[str]:
    return frozenset(json.loads(trigger.options or "{}"))


def has_provider_settings(config: Config) -> bool:
    """Return whether a service uses more than a provider always supports. The limits are only read
    for such services, because that imports the deployer."""
    section = json.loads(config.provider.extensions).get(config.provider.id)
    has_parts = bool(section or config.supplies.machines)
    return has_parts or any(map(_has_provider_settings, config.functions))


def _has_provider_settings(one: Function) -> bool:
    capacity = (one.capacity.provisioned_concurrency, one.capacity.reserved_concurrency)
    if one.settings or one.layers or one.build.package.is_image or any(capacity):
        return True
    return any(
        not isinstance(trigger, HttpTrigger | CronTrigger)
        or trigger.options
        or getattr(trigger, "authorizer", "")
        or getattr(trigger, "path", "") == DEFAULT_ROUTE
        for trigger in one.triggers
    )


def _list_missing_fields(trigger: Trigger) -> tuple[str, ...]:
    match trigger:
        case EventbusTrigger(pattern=pattern):
            needs = {"pattern": pattern not in ("", "{}")}
        case PubsubTrigger(topic=topic):
            needs = {"topic": bool(topic)}
        case LogstreamTrigger(stream=stream, starting_position=position) if stream:
            needs = {"startingPosition": bool(position)}
        case LogstreamTrigger(topic=topic, brokers=brokers, starting_position=position):
            options = _list_options(trigger)
            needs = {"topic": bool(topic), "brokers": bool(brokers) or "cluster" in options}
            if not _BROKERS.isdisjoint(options):
                needs["startingPosition"] = bool(position)
        case AmqpTrigger(queue=queue):
            options = _list_options(trigger)
            needs = {"queue": bool(queue)}
            if "broker" in options:
                needs["secret"] = "secret" in options
        case _:
            needs = {}
    return tuple(key for key, is_there in needs.items() if not is_there)


def _get_kind(trigger: Trigger) -> TriggerKind:
    match trigger:
        case EventbusTrigger():
            return TriggerKind.EVENTBUS
        case PubsubTrigger():
            return TriggerKind.PUBSUB
        case LogstreamTrigger():
            return TriggerKind.LOGSTREAM
        case _:
            return TriggerKind.AMQP


def _trigger_support_problem(config: Config, function: Function, kind: TriggerKind) -> Problem:
    message = (
        f"function `{function.name}` has a trigger of type `{kind}`, "
        f"which {format_provider_title(config.provider.id)} does not support"
    )
    hint = "use it only in local runs, or deploy the function to AWS Lambda (`cloud1-lambda`)"
    if _takes_options(config):
        keys = "`broker`" if kind is TriggerKind.AMQP else "`stream`, `cluster` or `access`"
        message = f"{message} without {keys}"
        hint = f"add {keys} to deploy it; local runs do not need it"
    return Problem("config/trigger-unsupported", message, hint)
