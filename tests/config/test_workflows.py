"""Workflows with a definition: files, substitutions, own ARNs, and other providers."""

import pytest

from fabric.config.load import BindingInputs, ConfigText, load_config
from fabric.config.values import Config, StateMachine
from fabric.model.late_values import format_placeholder
from fabric.model.problems import FabricError, Problem
from tests.support.config_texts import HEAD, ONE, codes, loaded, problems, warned

MACHINE = "{StartAt: A, States: {A: {Type: Pass, Result: '${Note}', End: true}}}"
SUBSTITUTED = "substitutions: {Note: x}"


def config(entry: str, head: str = HEAD) -> str:
    return f"{head}{ONE}workflows: [{{name: flow, {entry}}}]\n"


def of_file(text: str, entry: str = "") -> Config:
    files = {"flow.yml": text}
    inputs = BindingInputs(read_text=files.get)
    document = config(f"definition: flow.yml{entry}")
    return load_config(ConfigText("fabric.yml", document.encode(), {}, "dev", bindings=inputs))


def problem_of(text: str, entry: str = "") -> Problem:
    try:
        of_file(text, entry)
    except FabricError as error:
        return error.first
    raise AssertionError("no problem")


def only(text: str) -> StateMachine:
    [one] = loaded(text).supplies.machines
    return one


def test_a_definition_is_a_file_or_a_map() -> None:
    inline = only(config(f"definition: {MACHINE}, {SUBSTITUTED}"))
    [of_yaml] = of_file(MACHINE, f", {SUBSTITUTED}").supplies.machines
    assert inline == of_yaml
    assert (inline.type, inline.substitutions) == ("standard", (("Note", "x"),))


@pytest.mark.parametrize("key", ["arn", "name"])
def test_own_addresses_are_filled_in_files_and_maps(key: str) -> None:
    task = f"{{Type: Task, Resource: '${{function:api.{key}}}', End: true}}"
    machine = f"{{StartAt: A, States: {{A: {task}}}}}"
    placeholder = format_placeholder(f"function:api.{key}")
    assert placeholder in only(config(f"definition: {machine}")).definition
    assert placeholder in of_file(machine).supplies.machines[0].definition


def test_a_fault_names_the_file_its_line_and_the_path() -> None:
    found = problem_of("StartAt: A\nStates:\n  A:\n    Type: Pass\n    Next: B\n")
    message = "definition `flow.yml`, line 5: `States.A.Next` names the missing state `B`"
    assert (found.code, found.message) == ("config/workflow", message)
    assert str(found.where).startswith("fabric.yml:4")
    assert "definition `flow.yml`, line" in problem_of("StartAt: [").message


def test_a_missing_file_is_reported() -> None:
    assert codes(config("definition: none.yml")) == ["config/missing-file"]


def test_unknown_names_are_reported() -> None:
    assert codes(config(f"definition: {MACHINE}")) == ["config/workflow"]
    found = problem_of(MACHINE.replace("Note", "param:x"))
    assert "is not filled in a definition file" in found.message
    other = problem_of(MACHINE.replace("Note", "function:api.url"))
    assert other.hint == "write ${function:NAME.arn} or ${function:NAME.name}"
    for key in ("arn", "name"):
        unknown = problem_of(MACHINE.replace("Note", f"function:apii.{key}"))
        assert unknown.code == "config/unresolved-reference"
        assert unknown.hint == "did you mean `api`?"
    env = "env: {F: '${workflow:flo.arn}'}\n"
    assert codes(config(f"definition: {MACHINE}, {SUBSTITUTED}") + env) == [
        "config/unresolved-reference"
    ]


def test_arns_of_the_service_are_known_in_variables_and_not_in_builds() -> None:
    text = config(f"definition: {MACHINE}, {SUBSTITUTED}")
    assert codes(text + "env: {F: '${workflow:flow.arn}', G: '${function:api.arn}'}\n") == []
    assert codes(text + "build: {command: 'make ${function:api.arn}'}\n") == ["config/late-value"]
    late = "extensions: {cloud1-lambda: {roleArn: '${function:api.arn}'}}\n"
    assert codes(text + late) == ["config/late-value"]


def test_a_late_value_names_its_workflow_and_where_it_could_be() -> None:
    entry = f"definition: {MACHINE}, {SUBSTITUTED}, role: '${{function:api.arn}}'"
    [found] = problems(config(entry))
    assert found.message.startswith("`workflows.flow.role` must be known")
    assert "sources of triggers of the workflow" in found.hint
    assert "`env`" not in found.hint


def test_outputs_of_other_services_are_refused_because_workflows_do_not_wait_for_them() -> None:
    text = config(f"definition: {MACHINE}, substitutions: {{Note: '${{service:net.Url}}'}}")
    [found] = [one for one in problems(text) if one.code == "config/late-value"]
    assert found.message.startswith("`workflows.flow.substitutions` uses `${service:net.Url}`")


def test_keys_that_exclude_each_other_are_reported() -> None:
    both = "permissions: [], role: 'arn:aws:iam::1:role/x'"
    assert codes(config(f"definition: {MACHINE}, {SUBSTITUTED}, {both}")) == ["config/workflow"]
    steps = "steps: [{id: a, kind: b}]"
    assert codes(config(f"definition: {MACHINE}, {SUBSTITUTED}, {steps}")) == ["config/workflow"]


def test_a_misspelled_key_of_a_definition_is_an_error_and_of_steps_a_warning() -> None:
    [found] = problems(config(f"definition: {MACHINE}, {SUBSTITUTED}, tracng: active"))
    assert (found.code, found.hint) == ("config/unknown-key", "did you mean `tracing`?")
    [found] = problems(config(f"definition: {MACHINE}, {SUBSTITUTED}, timeout: 3"))
    assert found.hint.startswith("known keys: definition, logs")
    assert warned(config("steps: [{id: a, kind: b}], timeout: 3")) == ["config/passed-on"]


@pytest.mark.parametrize(
    ("entry", "hint"),
    [
        ("DynamoDBWritPolicy: {TableName: t}", "did you mean `DynamoDBWritePolicy`?"),
        ("Foo: {TableName: t}", "use the keys `actions` and `resources` of a statement"),
    ],
)
def test_an_unknown_permission_gets_a_short_hint(entry: str, hint: str) -> None:
    [found] = problems(config(f"definition: {MACHINE}, {SUBSTITUTED}, permissions: [{{{entry}}}]"))
    assert found.hint.startswith(hint)
    assert len(found.hint) < 100


def test_secrets_are_refused_because_definitions_are_readable() -> None:
    text = config(f"definition: {MACHINE}, substitutions: {{Note: '${{secret:KEY}}'}}")
    assert "config/secret-here" in codes(text, {"KEY": "value"})


def test_other_triggers_than_cron_and_eventbus_are_refused() -> None:
    triggers = "triggers: [{type: queue, queue: q}]"
    [found] = problems(config(f"definition: {MACHINE}, {SUBSTITUTED}, {triggers}"))
    assert found.code == "config/unknown-trigger"


def test_other_providers_ignore_definitions_with_a_warning() -> None:
    head = "service: shop\nprovider: {name: edge1-workers, runtime: nodejs}\n"
    text = config("definition: none.yml", head)
    assert "config/passed-on" in warned(text)
    assert loaded(text).supplies.machines == ()


def test_workflows_of_steps_keep_their_meaning() -> None:
    found = loaded(config("steps: [{id: a, kind: b}]"))
    assert found.supplies.machines == ()
    assert found.supplies.workflows[0].steps == '[{"id":"a","kind":"b"}]'


def test_schedules_of_triggers_are_checked() -> None:
    entry = f"definition: {MACHINE}, {SUBSTITUTED}, triggers: [{{type: cron, schedule: %s}}]"
    [found] = problems(config(entry % "rate(0 days)"))
    assert found.code == "config/bad-schedule"
    assert "workflow `flow`" in found.message
    assert codes(config(entry % "rate(2 days)")) == []
