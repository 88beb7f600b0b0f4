"""Problems that prevent a plan or a deploy although the config loads. Local runs ignore them."""

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from fabric.config.rules.env_size import too_large
from fabric.config.rules.locations import BACKEND, trigger_pointer
from fabric.config.values import (
    AmqpTrigger,
    Config,
    ConfigPlace,
    EventbusTrigger,
    Function,
    LogstreamTrigger,
    PubsubTrigger,
    Trigger,
)
from fabric.model.back_ends import back_end_facts
from fabric.model.catalog import titled
from fabric.model.names import TriggerKind
from fabric.model.problems import Place, Problem


def plan_problems(config: Config) -> tuple[Problem, ...]:
    """Return why this config cannot be planned; empty if it can."""
    found = [
        *config.unplannable,
        *_placed(config, BACKEND, _backend_problems(config)),
        *(
            problem
            for pointer, found in too_large(config)
            for problem in _placed(config, pointer, [found])
        ),
        *(
            problem
            for function in config.functions
            for number, trigger in enumerate(function.triggers)
            for problem in _placed(
                config,
                trigger_pointer(function.name, number),
                _trigger_problems(config, function, trigger),
            )
        ),
    ]
    return tuple(found)


def _placed(config: Config, pointer: str, problems: Iterable[Problem]) -> Iterator[Problem]:
    """Add the place of a setting to problems, or only the file if unknown."""
    for problem in problems:
        spot = next((one for one in config.locations if one.pointer == pointer), None)
        spot = spot or ConfigPlace(pointer, Place(config.file))
        yield replace(problem, where=spot.where, frame=spot.frame)


def _backend_problems(config: Config) -> Iterator[Problem]:
    needed = back_end_facts(config.backend.kind).needed
    if needed and needed not in dict(config.backend.settings):
        message = f"`backend.{needed}` is required for backend `{config.backend.kind}`"
        yield Problem("config/missing-key", message)


def _trigger_problems(config: Config, function: Function, trigger: Trigger) -> Iterator[Problem]:
    match trigger:
        case LogstreamTrigger() | AmqpTrigger():
            yield _unsupported(config, function, _kind_of(trigger))
        case _:
            pass
    for key in _missing(trigger):
        message = (
            f"`{key}` is required in the {_kind_of(trigger)} trigger of function `{function.name}`"
        )
        yield Problem("config/missing-key", message)


def _missing(trigger: Trigger) -> tuple[str, ...]:
    match trigger:
        case EventbusTrigger(pattern=pattern):
            needs = {"pattern": pattern not in ("", "{}")}
        case PubsubTrigger(topic=topic):
            needs = {"topic": bool(topic)}
        case LogstreamTrigger(topic=topic, brokers=brokers):
            needs = {"topic": bool(topic), "brokers": bool(brokers)}
        case AmqpTrigger(queue=queue):
            needs = {"queue": bool(queue)}
        case _:
            needs = {}
    return tuple(key for key, is_there in needs.items() if not is_there)


def _kind_of(trigger: Trigger) -> TriggerKind:
    match trigger:
        case EventbusTrigger():
            return TriggerKind.EVENTBUS
        case PubsubTrigger():
            return TriggerKind.PUBSUB
        case LogstreamTrigger():
            return TriggerKind.LOGSTREAM
        case _:
            return TriggerKind.AMQP


def _unsupported(config: Config, function: Function, kind: TriggerKind) -> Problem:
    message = (
        f"function `{function.name}` has a trigger of type `{kind}`, "
        f"which {titled(config.provider.id)} does not support"
    )
    hint = "use it only in local runs: no provider supports this trigger"
    return Problem("config/trigger-unsupported", message, hint)
