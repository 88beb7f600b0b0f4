"""`build.before` and `hooks`: their order, forms and mistakes."""

import pytest

from fabric.config.values import Step
from fabric.model.names import StepEvent
from tests.support.config_texts import HEAD, ONE, codes, loaded, problems, warned

BEFORE = f"{HEAD}{ONE}build: {{before: [%s]}}\n"
GEN = "{name: gen, command: make gen}"


def steps(text: str) -> tuple[Step, ...]:
    return loaded(text).supplies.steps


def test_a_step_has_defaults() -> None:
    [step] = steps(BEFORE % GEN)
    assert step == Step(name="gen", event=StepEvent.BEFORE_BUILD, command=("make", "gen"))
    assert step.timeout == 600


def test_all_keys_are_read() -> None:
    text = "{name: a, command: [sh, -c, 'a b'], inputs: [x, '!y'], outputs: [z/], timeout: 5}"
    [step] = steps(f"{HEAD}{ONE}build: {{ignore: [docs], before: [{text}]}}\n")
    assert step.command == ("sh", "-c", "a b")
    assert (step.inputs, step.outputs) == (("x", "!y"), ("z/",))
    assert (step.timeout, step.ignore) == (5, ("docs",))


def test_steps_come_in_the_order_of_their_events() -> None:
    hooks = "hooks: {after-deploy: [c], before-build: [{command: b}], 'after:deploy': ['d e']}\n"
    found = [(one.event, one.name, one.command) for one in steps(BEFORE % GEN + hooks)]
    assert found == [
        (StepEvent.BEFORE_BUILD, "gen", ("make", "gen")),
        (StepEvent.BEFORE_BUILD, "before-build-1", ("b",)),
        (StepEvent.AFTER_DEPLOY, "after-deploy-1", ("c",)),
        (StepEvent.AFTER_DEPLOY, "after-deploy-2", ("d", "e")),
    ]


def test_steps_can_be_a_map_and_a_hook_one_line() -> None:
    text = f"{HEAD}{ONE}build: {{before: {{gen: {{command: make}}}}}}\nhooks: {{after-build: ls}}\n"
    assert [(one.name, one.command) for one in steps(text)] == [
        ("gen", ("make",)),
        ("after-build-1", ("ls",)),
    ]


def test_deploy_hooks_can_run_in_simulated_deploys() -> None:
    [step] = steps(f"{HEAD}{ONE}hooks: {{before-deploy: [{{command: a, simulated: true}}]}}\n")
    assert step.simulated


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (BEFORE % f"{GEN}, {GEN}", "config/duplicate-name"),
        (BEFORE % '{name: a, command: "it\'s"}', "config/bad-command"),
        (BEFORE % "{name: a}", "config/missing-key"),
        (BEFORE % "{command: a}", "config/missing-key"),
        (BEFORE % "{name: a/b, command: a}", "config/bad-value"),
        (BEFORE % "{name: a, command: a, outputs: [../x]}", "config/bad-pattern"),
        (BEFORE % "{name: a, command: a, outputs: ['**']}", "config/bad-pattern"),
        (BEFORE % "{name: a, command: a, outputs: [.]}", "config/bad-pattern"),
        (BEFORE % "{name: a, command: a, outputs: ['!x']}", "config/bad-pattern"),
        (BEFORE % "{name: a, command: a, outputs: [.git/x]}", "config/bad-pattern"),
        (BEFORE % "{name: a, command: a, inputs: [/etc/x]}", "config/bad-pattern"),
        (BEFORE % "{name: a, command: a, timeout: 0}", "config/bad-value"),
        (f"{HEAD}{ONE}hooks: {{before-deploy: [{{command: a, inputs: [x]}}]}}\n", ""),
        (f"{HEAD}functions: [{{name: a, entry: a.ts, build: {{before: []}}}}]\n", ""),
    ],
)
def test_mistakes_are_reported(text: str, code: str) -> None:
    assert codes(text) == [code or "config/unknown-key"]


CACHED = "remove it: cached commands receive no secrets"
HOOK = "read it from the environment: write $NAME in `sh -c`"


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        (BEFORE % "{name: a, command: 'echo ${secret:T}'}", CACHED),
        (f"{HEAD}{ONE}hooks: {{after-build: ['echo ${{secret:T}}']}}\n", CACHED),
        (f"{HEAD}{ONE}hooks: {{'after:package': ['echo ${{secret:T}}']}}\n", CACHED),
        (f"{HEAD}{ONE}hooks: {{'before:deploy': [{{command: [echo, '${{secret:T}}']}}]}}\n", HOOK),
        (f"{HEAD}{ONE}hooks: {{after-release: 'echo ${{secret:T}}'}}\n", HOOK),
    ],
)
def test_commands_cannot_contain_secrets(text: str, hint: str) -> None:
    [problem] = problems(f"{text}secrets: {{T: '${{env:T}}'}}\n", {"T": "hush"})
    assert (problem.code, problem.hint) == ("config/secret-here", hint)


def test_a_duplicate_step_names_both_lines() -> None:
    [problem] = problems(f"{HEAD}{ONE}build:\n  before:\n    - {GEN}\n    - {GEN}\n")
    assert problem.message == "duplicate step `gen` (lines 6 and 7)"


def test_unknown_hooks_are_kept_with_a_warning() -> None:
    assert warned(f"{HEAD}{ONE}hooks: {{'before:offline:start': [a], x: {{y: 1}}}}\n") == [
        "config/no-effect",
        "config/no-effect",
    ]
