"""Outputs of dependencies are accepted only in the settings that a release can still fill."""

import pytest

from fabric.model.late_values import format_placeholder
from fabric.model.problems import Problem
from tests.support.config_texts import HEAD, problems

NAME = "SERVICE_A_URL"
LATE = {NAME: format_placeholder(NAME)}
ONE = "functions: [{name: a, entry: a.ts%s}]\n"


def refused(text: str) -> tuple[Problem, ...]:
    return problems(text.replace("LATE", f"'${{env:{NAME}}}'"), LATE)


@pytest.mark.parametrize(
    "text",
    [
        HEAD + ONE % "" + "env: {A: LATE}\n",
        HEAD + ONE % "" + "params: {a: LATE}\n",
        HEAD + ONE % ", env: {A: LATE}",
        HEAD + ONE % "" + "extensions: {cloud1-lambda: {tags: {a: LATE}}}\n",
        HEAD + ONE % "" + "resources: {r: {type: cache, envVar: R, connectionString: LATE}}\n",
        HEAD + ONE % "" + "resources: {r: {type: cache, connectionEnv: R, default: LATE}}\n",
        HEAD + ONE % "" + "addons: {m: {secrets: {A: LATE}}}\n",
    ],
)
def test_late_value_is_accepted_where_a_release_fills_it(text: str) -> None:
    assert refused(text) == ()


@pytest.mark.parametrize(
    ("text", "path"),
    [
        (HEAD + ONE % ", memory: LATE", "functions[].memory"),
        (HEAD + ONE % ", include: [a.txt, LATE]", "functions[].include"),
        (HEAD + ONE % ", triggers: [{type: http, path: LATE}]", "functions[].triggers"),
        (HEAD + ONE % "" + "build: {define: {A: LATE}}\n", "build"),
        (HEAD + ONE % "" + "extensions: {cloud1-lambda: {region: LATE}}\n",
         "extensions.cloud1-lambda.region"),
        (HEAD + ONE % "" + "resources: {r: {type: LATE}}\n", "resources[].type"),
        (HEAD + ONE % "" + "addons: {m: {version: LATE}}\n", "addons[].version"),
    ],
)  # fmt: skip
def test_late_value_elsewhere_is_the_only_problem_of_its_place(text: str, path: str) -> None:
    (found,) = refused(text)
    assert found.code == "config/late-value"
    assert found.message == (
        f"`{path}` must be known before the run, but `{NAME}` is known after a deploy"
    )
    assert found.frame
