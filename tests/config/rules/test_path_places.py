"""Problems of paths get the lines of the paths, also after a stage overlay."""

from fabric.config.rules.path_places import FunctionPath, list_function_paths, with_places
from fabric.config.values import Config
from fabric.model.problems import Problem
from tests.support.config_texts import HEAD, ONE, loaded

TEXT = (
    HEAD
    + """\
build: {tsconfig: shared.json}
functions:
  - name: a
    entry: a.ts
    include: [x.txt, y.txt]
  - name: ${env:NAME}
    entry: b.ts
stages: {prod: {functions: {a: {entry: prod.ts}}}}
"""
)


def config(stage: str = "dev") -> Config:
    return loaded(TEXT, {"NAME": "b"}, stage)


def line_of(path: FunctionPath, stage: str = "dev") -> int:
    (found,) = with_places(config(stage), TEXT.encode(), [(path, Problem("x/y", "z"))])
    assert found.where is not None
    assert found.where.file == "fabric.yml"
    assert bool(found.frame) == bool(found.where.line)
    return found.where.line


def test_entries_include_patterns_and_tsconfig_are_paths_of_functions() -> None:
    assert [(one.function, one.path, one.number) for one in list_function_paths(config())] == [
        ("a", "a.ts", 0),
        ("a", "shared.json", 0),
        ("a", "x.txt", 0),
        ("a", "y.txt", 1),
        ("b", "b.ts", 0),
        ("b", "shared.json", 0),
    ]


def test_problem_of_a_path_is_placed_at_its_line() -> None:
    assert line_of(FunctionPath("a", "a.ts", ("entry",))) == 6
    assert line_of(FunctionPath("a", "y.txt", ("include",), 1)) == 7
    assert line_of(FunctionPath("a", "gone.txt", ("include",), 9)) == 7
    assert line_of(FunctionPath("a", "prod.ts", ("entry",)), "prod") == 10


def test_setting_of_the_service_is_placed_at_the_top_level() -> None:
    assert line_of(FunctionPath("a", "shared.json", ("build", "tsconfig"))) == 3
    assert line_of(FunctionPath("", "shared.json", ("build", "tsconfig"))) == 3


def test_function_named_by_a_binding_has_no_line() -> None:
    assert line_of(FunctionPath("b", "b.ts", ("entry",))) == 0
    assert line_of(FunctionPath("a", "no.ts", ("missing",))) == 0


def test_problems_are_in_the_order_of_the_file() -> None:
    paths = [FunctionPath("a", "y.txt", ("include",), 1), FunctionPath("a", "a.ts", ("entry",))]
    rows = [(one, Problem("x/y", one.path)) for one in paths]
    assert [one.message for one in with_places(config(), TEXT.encode(), rows)] == ["a.ts", "y.txt"]


def test_numbers_are_items_of_lists() -> None:
    text = (
        HEAD
        + ONE
        + "extensions: {edge1-workers: {bindings: {r2_buckets: [{binding: A},\n{binding: B}]}}}\n"
    )
    keys = ("extensions", "edge1-workers", "bindings", "r2_buckets", "1")
    path = FunctionPath("", "", keys)
    (found,) = with_places(loaded(text), text.encode(), [(path, Problem("x/y", "z"))])
    assert found.where is not None
    assert found.where.line == text[: text.index("{binding: B}")].count("\n") + 1
