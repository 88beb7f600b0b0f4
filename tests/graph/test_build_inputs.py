"""What a build is made from: each option of the bundler is an input where it has a meaning."""

import pytest

from fabric.graph.compile import compile_graph
from fabric.graph.service_unit import FunctionPackages, ServiceUnit
from fabric.model.names import Verb
from tests.support.config_texts import loaded

HEAD = "service: shop\nprovider: {name: PROVIDER, runtime: RUNTIME}\n"
ONE = "functions: [{name: one, entry: src/one.handler, architecture: arm64}]\n"
OPTIONS = """build:
  external: [sharp]
  format: esm
  target: es2022
  define: {A: '1'}
  loader: {.sql: text}
  tsconfig: other.json
  keepNames: true
  banner: hi
  minify: true
  sourcemap: true
"""


def options(tail: str, runtime: str = "nodejs20.x", provider: str = "edge1-workers") -> set[str]:
    head = HEAD.replace("PROVIDER", provider).replace("RUNTIME", runtime)
    graph = compile_graph([ServiceUnit(loaded(head + ONE + tail), "")], Verb.BUILD)
    (inputs,) = graph.inputs_of("build")
    return {f"{entry.name}={entry.value}" for entry in inputs.entries()}


@pytest.mark.parametrize("line", OPTIONS.splitlines()[1:], ids=str.strip)
def test_each_build_option_is_a_separate_input(line: str) -> None:
    assert options("") != options(f"build:\n{line}\n")


def test_unset_options_are_not_inputs() -> None:
    names = {text.partition("=")[0] for text in options("", provider="cloud2-functions")}
    assert names == {"entry", "runtime", "minify", "sourcemap", "include", "ignore", "command"}


def test_provider_methods_are_inputs_if_the_entry_names_no_export() -> None:
    def asked(entry: str, provider: str) -> list[str]:
        head = HEAD.replace("PROVIDER", provider).replace("RUNTIME", "nodejs20.x")
        text = head + ONE.replace("src/one.handler", entry)
        graph = compile_graph([ServiceUnit(loaded(text), "")], Verb.BUILD)
        (inputs,) = graph.inputs_of("build")
        names = (entry.name for entry in inputs.entries())
        return sorted({"handlers", "methods"} & set(names))

    assert asked("src/one.mts", "edge1-workers") == ["handlers", "methods"]
    assert asked("src/one.default", "edge1-workers") == ["methods"]
    assert asked("src/one.main", "cloud5-functions") == []
    assert asked("src/one.ts", "cloud1-lambda") == []


def test_a_strict_build_packs_the_functions_that_have_packages() -> None:
    head = HEAD.replace("PROVIDER", "cloud1-lambda").replace("RUNTIME", "python3.12")
    text = (
        f"{head}functions: [{{name: one, entry: one.handler}}, {{name: two, entry: two.handler}}]"
    )
    unit = ServiceUnit(
        loaded(text),
        "",
        packages=(FunctionPackages(function="one", folder="", text="six==1.16.0"),),
    )

    def compiled(*, strict: bool) -> list[str]:
        return sorted(compile_graph([unit], Verb.BUILD, strict=strict).ids)

    assert compiled(strict=False) == ["build:shop/one", "build:shop/two"]
    plain = [one for one in compiled(strict=True) if not one.startswith("vendor:")]
    assert plain == ["build:shop/one", "build:shop/two", "package:shop/one"]
    assert len(compiled(strict=True)) == 4


def test_bundler_options_are_not_inputs_of_python_or_command_builds() -> None:
    assert options(OPTIONS, "python3.11") == options("", "python3.11")
    command = "build: {command: make}\n"
    assert options(OPTIONS + "  command: make\n") == options(command)


def test_provided_packages_are_external_unless_negated() -> None:
    assert "provided=('@aws-sdk/*',)" in options("", provider="cloud1-lambda")
    taken_back = options('build: {external: ["!@aws-sdk/*"]}\n', provider="cloud1-lambda")
    assert not any(text.startswith(("provided", "external")) for text in taken_back)
