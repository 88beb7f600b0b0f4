"""Small configs for tests, and what loading them says."""

from collections.abc import Mapping

from fabric.config.load import ConfigText, load_config
from fabric.config.values import Config, Trigger
from fabric.model.problems import FabricError, Problem

HEAD = "service: shop\nprovider: {name: cloud1-lambda, runtime: nodejs20.x}\n"
ONE = "functions: [{name: api, entry: src/api.ts}]\n"
NO_ENV: Mapping[str, str] = {}


def loaded(
    text: str, env: Mapping[str, str] = NO_ENV, stage: str = "dev", provider: str = ""
) -> Config:
    return load_config(ConfigText("fabric.yml", text.encode(), env, stage, provider))


def problems(
    text: str, env: Mapping[str, str] = NO_ENV, stage: str = "dev", provider: str = ""
) -> tuple[Problem, ...]:
    """All problems of a text; none when it loads."""
    try:
        loaded(text, env, stage, provider)
    except FabricError as error:
        return error.problems
    return ()


def codes(
    text: str, env: Mapping[str, str] = NO_ENV, stage: str = "dev", provider: str = ""
) -> list[str]:
    return [problem.code for problem in problems(text, env, stage, provider)]


def warned(text: str, stage: str = "dev") -> list[str]:
    return [problem.code for problem in loaded(text, stage=stage).document.warnings]


def with_trigger(trigger: str, provider: str = "cloud1-lambda") -> str:
    head = f"service: shop\nprovider: {{name: {provider}, runtime: nodejs}}\n"
    return f"{head}functions: [{{name: api, entry: a.ts, triggers: [{trigger}]}}]\n"


def trigger_of(trigger: str, provider: str = "cloud1-lambda") -> Trigger:
    return loaded(with_trigger(trigger, provider)).functions[0].triggers[0]
