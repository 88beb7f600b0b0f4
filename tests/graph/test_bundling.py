"""Parts of the provider's section that the graph reads."""

import pytest

from fabric.graph.bundling import find_first_function, list_static_patterns
from tests.support.config_texts import loaded

_TWO = "functions: [{name: a, entry: a.ts}, {name: b, entry: b.ts}]\n"
_ONE = "functions: [{name: a, entry: a.ts}]\n"


def head(provider: str, section: str) -> str:
    return (
        f"service: shop\nprovider: {{name: {provider}, runtime: nodejs22.x}}\n"
        f"extensions: {{{provider}: {section}}}\n"
    )


@pytest.mark.parametrize(
    ("provider", "section", "functions", "patterns"),
    [
        ("edge1-workers", "{assets: {directory: public/}}", _ONE, {"a": ("public/**",)}),
        ("edge1-workers", "{assets: {directory: public}}", _TWO, {}),
        ("edge1-workers", "{assets: {directory: web, function: b}}", _TWO, {"b": ("web/**",)}),
        ("host1", "{static: {directory: web}}", _TWO, {"a": ("web/**",)}),
        ("host2", "{static: {directory: web, function: b}}", _TWO, {"b": ("web/**",)}),
        ("host2", "{}", _TWO, {}),
        ("cloud2-functions", "{region: x}", _ONE, {}),
    ],
)
def test_static_files_are_in_the_archive_of_one_function(
    provider: str, section: str, functions: str, patterns: dict[str, tuple[str, ...]]
) -> None:
    config = loaded(head(provider, section) + functions)
    found = {one.name: list_static_patterns(config, one) for one in config.functions}
    assert {name: rows for name, rows in found.items() if rows} == patterns


def test_the_function_with_the_classes_comes_first() -> None:
    objects = "durable_objects: {function: b, bindings: [{name: R, class_name: R}]}"
    text = head("edge1-workers", f"{{bindings: {{{objects}}}}}") + _TWO
    assert find_first_function(loaded(text)) == "b"
    assert find_first_function(loaded(head("edge1-workers", "{}") + _TWO)) == ""
