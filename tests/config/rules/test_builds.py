"""Build commands and presets: which runtimes they fit, and what is missing."""

import pytest

from fabric.config.rules.deployable import plan_problems
from tests.support.config_texts import codes, loaded, problems, warned

HEAD = "service: shop\nprovider: {name: %s, runtime: %s}\n"
GO = "build: {preset: go}\n"


def config(functions: str, more: str = "", runtime: str = "provided.al2023") -> str:
    return f"{HEAD % ('cloud1-lambda', runtime)}functions: [{functions}]\n{more}"


def one(more: str = "", name: str = "a") -> str:
    return f"{{name: {name}, entry: src{more}}}"


def test_a_preset_of_the_service_is_enough() -> None:
    [function] = loaded(config(one(), GO)).functions
    assert (function.build.custom.preset, function.build.is_custom) == ("go", True)


@pytest.mark.parametrize("runtime", ["provided.al2023", "java21", "dotnet8"])
def test_a_runtime_without_a_built_in_build_needs_a_command(runtime: str) -> None:
    [problem] = problems(config(one(), runtime=runtime))
    assert problem.code == "config/build-required"
    assert "build.preset" in problem.hint
    assert codes(config(one(", build: {command: make}"), runtime=runtime)) == []


def test_all_keys_of_a_build_are_read_and_those_of_a_function_win() -> None:
    keys = (
        "inputs: [a, '!b'], depfile: true, outputs: [bootstrap], caches: {A: a}, "
        "tools: [[cc, --version], make -v]"
    )
    [function] = loaded(
        config(
            one(", build: {command: make, caches: {B: b}, depfile: false}"), f"build: {{{keys}}}"
        )
    ).functions
    custom = function.build.custom
    assert (custom.inputs, custom.outputs, custom.depfile) == (("a", "!b"), ("bootstrap",), False)
    assert custom.caches == (("A", "a"), ("B", "b"))
    assert custom.tools == (("cc", "--version"), ("make", "-v"))


def test_a_preset_of_a_function_replaces_the_command_of_the_service() -> None:
    text = config(one(", build: {preset: rust}"), "build: {command: make, outputs: [x]}\n")
    [function] = loaded(text).functions
    assert (function.build.command, function.build.custom.outputs) == ((), ())


def test_a_preset_of_the_service_counts_only_for_runtimes_that_it_builds() -> None:
    [function, other] = loaded(
        config(f"{one()}, {{name: b, entry: b.ts, runtime: nodejs20.x}}", GO)
    ).functions
    assert (function.build.is_custom, other.build.is_custom) == (True, False)


def test_a_preset_that_cannot_build_for_the_runtime_is_refused_with_its_place() -> None:
    [problem] = problems(config(one(", build: {preset: go}"), runtime="java21"))
    assert problem.code == "config/preset-runtime"
    assert problem.where is not None
    assert problem.where.line == 3


@pytest.mark.parametrize("entry", ["src/Words.java", "Words.java", "shop.csproj"])
def test_the_entry_of_a_managed_runtime_is_a_handler(entry: str) -> None:
    text = config(f"{{name: a, entry: {entry}}}", "build: {preset: java}\n", "java21")
    [problem] = problems(text)
    assert problem.code == "config/entry-runtime"
    assert "shop.Words::handle" in problem.hint


def test_java_and_dotnet_build_for_their_managed_runtimes() -> None:
    assert codes(config(one(), "build: {preset: java}\n", "java21")) == []
    assert codes(config(one(), "build: {preset: dotnet}\n", "dotnet8")) == []


@pytest.mark.parametrize("line", ["command: 'a \"b'", "command: make, tools: ['a \"b']"])
def test_a_line_that_cannot_be_split_is_refused(line: str) -> None:
    assert codes(config(one(f", build: {{{line}}}"))) == ["config/bad-command"]


def test_absolute_inputs_are_refused() -> None:
    text = config(one(", build: {command: make, inputs: [/etc/passwd]}"))
    assert codes(text) == ["config/bad-pattern"]


@pytest.mark.parametrize("name", ["../x", "a/b", ".x", ""])
def test_a_cache_has_a_plain_name(name: str) -> None:
    assert codes(config(one(f", build: {{command: make, caches: {{A: '{name}'}}}}"))) != []


@pytest.mark.parametrize(
    "pair", ["PATH: a", "HOME: a", "TMPDIR: a", "LANG: a", "FABRIC_OUT_DIR: a"]
)
def test_a_cache_does_not_set_variables_of_fabric(pair: str) -> None:
    [problem] = problems(config(one(f", build: {{command: make, caches: {{{pair}}}}}")))
    assert problem.code == "config/bad-value"
    assert problem.message == f"`build.caches` cannot set `{pair[:-3]}`: fabric sets it"
    assert problem.where is not None
    assert problem.where.line == 3


@pytest.mark.parametrize("name", ["versions", "go.lock"])
def test_a_cache_does_not_have_the_name_of_a_file_of_fabric(name: str) -> None:
    [problem] = problems(config(one(), f"build: {{command: make, caches: {{GOCACHE: {name}}}}}\n"))
    assert (problem.code, problem.where and problem.where.line) == ("config/bad-value", 4)


@pytest.mark.parametrize("package", ["{type: zip, base: b}", "{base: b}"])
def test_a_base_of_an_archive_has_no_effect(package: str) -> None:
    text = config(f"{{name: a, entry: a.ts, package: {package}}}", runtime="nodejs20.x")
    assert warned(text) == ["config/no-effect"]


def test_a_base_of_defaults_is_for_images() -> None:
    functions = "{name: a, entry: a.ts}, {name: b, entry: b.ts, package: {type: image}}"
    assert warned(config(functions, "defaults: {package: {base: b}}\n", "nodejs20.x")) == []


def test_keys_without_a_command_have_no_effect() -> None:
    text = config(one(", build: {inputs: [x]}"), runtime="nodejs20.x").replace("src", "a.ts")
    assert warned(text) == ["config/no-effect"]


@pytest.mark.parametrize("provider", ["cloud4-fc", "edge1-workers", "host1"])
def test_a_provider_without_the_runtime_is_reported_in_plans(provider: str) -> None:
    text = f"{HEAD % (provider, 'provided.al2023')}functions: [{one()}]\n{GO}"
    [problem] = list(plan_problems(loaded(text)))
    assert problem.code == "config/runtime-unsupported"
    assert "does not support" in problem.message
    assert "cloud1-lambda" in problem.hint
    assert problem.where is not None


def test_a_runtime_for_images_only_is_reported_in_plans() -> None:
    head = HEAD % ("cloud2-functions", "provided.al2023")
    [problem] = list(plan_problems(loaded(f"{head}functions: [{one()}]\n{GO}")))
    assert (problem.code, "package" in problem.hint) == ("config/runtime-unsupported", True)
    image = one(", package: {type: image}")
    assert list(plan_problems(loaded(f"{head}functions: [{image}]\n{GO}"))) == []
