"""Overlays of stages, and the order in which the environment of a function is laid."""

import json

from fabric.config.resolve.stages import stage_names
from fabric.config.yaml.reader import read
from tests.support.config_texts import HEAD, ONE, codes, loaded, problems, warned

_ARN = "arn:aws:lambda:eu:1:layer:base"


def _env(text: str, stage: str = "dev", env: dict[str, str] | None = None) -> dict[str, str]:
    return dict(loaded(text, env or {}, stage).functions[0].env)


def test_overlays_are_laid_on_from_least_to_most_specific() -> None:
    text = (
        HEAD
        + ONE
        + "env: {A: base, B: base, C: base, D: base}\nstages:\n"
        + "  prod-eu: {env: {D: name}}\n  prod-*: {env: {C: glob, D: glob}}\n"
        + "  '*': {env: {B: all, C: all, D: all}}\n  test: {env: {A: test}}\n"
    )
    assert _env(text, "prod-eu") == {"A": "base", "B": "all", "C": "glob", "D": "name"}
    assert "stages" not in json.loads(loaded(text, stage="prod-eu").document.resolved)


def test_an_overlay_changes_functions_by_name_in_either_form() -> None:
    base = "functions: [{name: a, entry: a.ts, env: {X: 1}}, {name: b, entry: b.ts}]\n"
    for overlay in ("{a: {memory: 9, env: {Y: 2}}}", "[{name: a, memory: 9, env: {Y: 2}}]"):
        config = loaded(f"{HEAD}{base}stages: {{dev: {{functions: {overlay}}}}}")
        first, second = config.functions
        assert (first.capacity.memory, first.env, second.capacity.memory) == (
            9,
            (("X", "1"), ("Y", "2")),
            0,
        )
    overlay = "stages: {dev: {functions: {a: {memory: 9}}}}"
    assert (
        loaded(f"{HEAD}functions: {{a: {{entry: a.ts}}}}\n{overlay}").functions[0].capacity.memory
        == 9
    )


def test_an_overlay_for_an_unknown_function_is_refused() -> None:
    found = problems(HEAD + ONE + "stages: {x: {functions: {apo: {memory: 1}}}}")
    assert [(one.code, one.hint) for one in found] == [
        ("config/unknown-function", "did you mean `api`?")
    ]


def test_overlays_of_other_stages_are_checked_but_not_bound() -> None:
    assert loaded(HEAD + ONE + "stages: {x: {env: {A: '${env:NOPE}'}}}").service == "shop"
    assert codes(HEAD + ONE + "stages: {x: {enw: {}}}") == ["config/unknown-key"]
    assert codes(HEAD + ONE + "stages: {dev: {provider: {name: host9}}}") == [
        "config/unknown-provider",
        "config/unknown-provider",
    ]


def test_later_sources_of_the_environment_win() -> None:
    text = (
        HEAD
        + "env: {A: service, B: service, C: service, D: service}\n"
        + "functions: [{name: a, entry: a.ts, env: {B: function, C: function, D: function}}]\n"
        + "resources:\n  - {name: r, type: cache, connection-env: R, envVar: C}\n"
        + "  - {name: s, type: cache, envVar: D, connectionString: resource}\n"
        + "  - {name: t, type: queue, connectionEnv: UNSET, default: there}\n"
        + "  - {name: u, type: topic}\n"
        + "addons: [{name: m, version: 1, options: {a: 1}, "
        + "secrets: {D: 'secret://K', E: K, F: 'vault://x', G: {ref: NONE, default: g}, "
        + "H: '${env:R}'}}]\n"
        + "secrets: {K: addon}\n"
    )
    assert _env(text, env={"R": "resource"}) == {
        "A": "service",
        "B": "function",
        "C": "resource",
        "D": "addon",
        "E": "addon",
        "G": "g",
        "H": "resource",
        "UNSET": "there",
    }
    config = loaded(text, {"R": "resource"})
    assert {"R", "UNSET", "NONE"} <= config.document.bindings.names
    assert dict(config.supplies.addons[0].secrets)["H"] == "${env:R}"


def test_a_function_may_choose_its_resources_and_addons() -> None:
    text = (
        HEAD
        + "functions: [{name: a, entry: a.ts, resources: [s], addons: []}]\n"
        + "resources: {r: {type: cache, envVar: R, connectionString: x}, "
        + "s: {type: cache, envVar: S, connectionString: y}}\n"
        + "addons: [{name: m, secrets: {T: K}}]\nsecrets: {K: v}\n"
    )
    assert _env(text) == {"S": "y"}
    wrong = text.replace("[s]", "[t]").replace("addons: []", "addons: [n]")
    assert codes(wrong) == ["config/unknown-resource", "config/unknown-addon"]


def test_layer_names_become_addresses_with_versions() -> None:
    text = (
        HEAD
        + f"functions: [{{name: a, entry: a.ts, layers: [one, two, base, '{_ARN}:9']}}]\n"
        + f"layers: [{{name: one, arn: '{_ARN}', version: '${{env:V}}'}}, "
        + f"{{name: two, arn: '{_ARN}:4', version: 7}}, {{arn: '{_ARN}:2'}}]\n"
    )
    assert loaded(text, {"V": "3"}).functions[0].layers == (
        f"{_ARN}:3",
        f"{_ARN}:4",
        f"{_ARN}:2",
        f"{_ARN}:9",
    )


def test_an_unknown_layer_is_refused_and_a_versionless_one_warned_about() -> None:
    layers = f"layers: [{{arn: '{_ARN}'}}]\n"
    text = f"{HEAD}functions: [{{name: a, entry: a.ts, layers: [bose]}}]\n{layers}"
    assert [one.hint for one in problems(text)] == ["did you mean `base`?"]
    assert warned(text.replace("bose", "base")) == ["config/layer-version"]


def test_layers_elsewhere_than_on_cloud1_are_a_warning() -> None:
    text = f"{HEAD}functions: [{{name: a, entry: a.ts, layers: ['{_ARN}:1']}}]\n"
    assert warned(text.replace("cloud1-lambda", "edge1-workers")) == ["config/layers-ignored"]


def test_stage_names_are_those_without_a_pattern() -> None:
    root = read("fabric.yml", b"stages: {prod: {}, 'test-*': {}, dev: {}, 'q?': {}}\n").root
    assert stage_names(root) == ["prod", "dev"]
    assert stage_names(read("fabric.yml", b"stages: 5\n").root) == []


def test_overlay_without_a_list_of_functions_to_change_is_left_to_the_schema() -> None:
    overlay = "stages: {dev: {functions: {a: {memory: 9}}}}\n"
    assert "config/wrong-type" in codes(f"{HEAD}functions: 5\n{overlay}")
    assert codes(f"{HEAD}functions: [5, {{name: a, entry: a.ts}}]\n{overlay}") == [
        "config/wrong-type"
    ]


def test_defaults_are_merged_below_the_keys_of_each_function() -> None:
    defaults = "defaults: {memory: 512, env: {A: all, B: all}, tracing: active}\n"
    for functions in (
        "functions: [{name: a, entry: a.ts, memory: 9, env: {B: own}}, {name: b, entry: b.ts}]",
        "functions: {a: {entry: a.ts, memory: 9, env: {B: own}}, b: {entry: b.ts}}",
    ):
        first, second = loaded(f"{HEAD}{defaults}{functions}").functions
        assert (first.capacity.memory, second.capacity.memory) == (9, 512)
        assert (dict(first.env), dict(second.env)) == (
            {"A": "all", "B": "own"},
            {"A": "all", "B": "all"},
        )
        assert first.settings == second.settings == (("tracing", "active"),)


def test_defaults_of_builds_are_not_for_existing_images() -> None:
    defaults = "defaults: {memory: 512, include: ['*.txt'], package: {type: image}}\n"
    [one] = loaded(f"{HEAD}{defaults}functions: {{a: {{image: r.example/a:1}}}}").functions
    assert (one.capacity.memory, one.include, one.build.package.base) == (512, (), "r.example/a:1")


def test_an_overlay_changes_defaults_and_false_cancels_one() -> None:
    vpc = "vpc: {subnetIds: [s], securityGroupIds: [g]}"
    text = (
        f"{HEAD}defaults: {{memory: 1, {vpc}}}\n"
        "functions: {a: {entry: a.ts}, b: {entry: b.ts, vpc: false}}\n"
        "stages: {prod: {defaults: {memory: 2}}}\n"
    )
    first, second = loaded(text, stage="prod").functions
    assert (first.capacity.memory, second.capacity.memory) == (2, 2)
    assert ([name for name, _ in first.settings], second.settings) == (["vpc"], ())


def test_a_mistake_in_defaults_is_reported_once() -> None:
    text = f"{HEAD}defaults: {{memory: big}}\nfunctions: {{a: {{entry: a.ts}}, b: {{entry: b.ts}}}}"
    [problem] = problems(text)
    assert problem.message.startswith("`defaults.memory`")
