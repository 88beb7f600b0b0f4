"""Outputs of stacks and of other services that a service uses."""

import pytest

from fabric.config.load import BindingInputs, ConfigText, load_config
from fabric.config.values import Config
from fabric.graph.late_outputs import (
    OutputName,
    find_output_task,
    is_stack_used_by_release,
    list_late_names,
    list_optional_tasks,
    list_output_tasks,
    list_service_outputs,
    list_used_outputs,
    missing_output_problem,
    require_outputs,
)
from fabric.graph.service_unit import ServiceNeeds, ServiceUnit
from fabric.model.late_values import format_placeholder
from fabric.model.problems import FabricError
from tests.support.config_texts import HEAD

AT = "cloud1-lambda"
RELEASE = f"release:net@{AT}"


def config(env: str, more: str = "", function: str = "") -> Config:
    text = f"{HEAD}functions: [{{name: api, entry: a.ts, env: {{X: '{env}'}}{function}}}]\n{more}"
    inputs = BindingInputs(services=frozenset({"net", "data"}))
    return load_config(ConfigText("fabric.yml", text.encode(), {}, "dev", bindings=inputs))


def unit(env: str) -> ServiceUnit:
    return ServiceUnit(config(env), "", needs=ServiceNeeds(names=(("net", RELEASE),)))


def test_the_late_values_of_a_function_are_in_its_environment_triggers_tags_and_settings() -> None:
    trigger = "{type: queue, queue: '${service:data.queue}'}"
    tags = "tags: {team: '${service:data.team}'}"
    more = f", {tags}, triggers: [{trigger}], layers: ['${{service:data.layer}}']"
    [function] = config("${service:net.url}", function=more).functions
    assert list_late_names(function) == (
        "service:data.layer",
        "service:data.queue",
        "service:data.team",
        "service:net.url",
    )


def test_outputs_of_other_services_are_also_in_extensions() -> None:
    extension = "extensions: {cloud1-lambda: {roleArn: '${service:data.role}'}}\n"
    found = config("${service:net.url}", extension)
    assert list_service_outputs(found) == ("service:data.role", "service:net.url")
    [function] = found.functions
    assert list_used_outputs(found, function) == ()
    assert not is_stack_used_by_release(found)


@pytest.mark.parametrize(
    ("name", "task"),
    [
        ("service:net.url", RELEASE),
        ("service:net@prod.url", f"release:net@{AT}@prod"),
        ("service:net.stack.Subnet", f"stack:net/before@{AT}"),
        ("service:net@prod.stack.Subnet", f"stack:net/before@{AT}@prod"),
        ("service:data.url", None),
    ],
)
def test_an_output_comes_from_a_release_or_a_stack(name: str, task: str | None) -> None:
    assert find_output_task(unit("x"), name) == task
    assert list_output_tasks(unit("x"), (name, name)) == ((task,) if task else ())


def test_a_task_of_another_stage_is_optional_if_each_output_has_a_default() -> None:
    assert list_optional_tasks(unit("${service:net@prod.url,none}")) == {f"release:net@{AT}@prod"}
    assert list_optional_tasks(unit("${service:net@prod.url}")) == frozenset()
    assert list_optional_tasks(unit("${service:net.url,none}")) == frozenset()


def test_a_name_of_an_output_has_a_service_a_stage_and_a_default() -> None:
    [name] = list_service_outputs(config("${service:net@prod.url,none}"))
    found = OutputName(name)
    assert (found.service, found.stage, found.output) == ("net", "prod", "url")
    assert (found.default, found.phase) == ("none", "")


def test_a_missing_output_is_named_with_the_command_that_lists_outputs() -> None:
    url, queue = (format_placeholder(one) for one in ("service:net@prod.url", "stack:Queue"))
    with pytest.raises(FabricError) as refused:
        require_outputs((("A", "x"), ("B", url)))
    assert refused.value.first.message == "`net` in stage `prod` has no output `url`"
    assert refused.value.first.hint == "run: fabric compose outputs net"
    with pytest.raises(FabricError) as refused:
        require_outputs((("A", queue),))
    assert refused.value.first.message == "the stack of the service has no output `Queue`"
    assert require_outputs((("A", "x"),)) == (("A", "x"),)
    assert missing_output_problem("service:net.url").message == "`net` has no output `url`"
