"""Rules for one function."""

import pytest

from fabric.config.rules.function import check_function, is_outside_project
from fabric.config.yaml.nodes import Mapping
from fabric.config.yaml.reader import read
from fabric.model.catalog import find_provider_facts

KNOWN = {
    "layers": frozenset({"shared"}),
    "resources": frozenset({"orders-db"}),
    "addons": frozenset({"mail"}),
}


def codes(text: str, provider: str = "cloud1-lambda", runtime: str = "nodejs20.x") -> list[str]:
    node = read("fabric.yml", text.encode()).root
    assert isinstance(node, Mapping)
    facts = find_provider_facts(provider)
    return [one.problem.code for one in check_function("api", node, runtime, facts, KNOWN)]


@pytest.mark.parametrize("entry", ["a.ts", "src/a.ts", "./a.ts", "src/../a.ts", "a..b/c.ts"])
def test_an_entry_is_beside_or_below_the_config(entry: str) -> None:
    assert not is_outside_project(entry)


@pytest.mark.parametrize(
    "entry", ["/a.ts", "\\a.ts", "C:/a.ts", "../a.ts", "src/../../a.ts", "src\\..\\..\\a.ts"]
)
def test_an_entry_outside_the_project_is_refused(entry: str) -> None:
    assert is_outside_project(entry)
    assert codes(f"entry: '{entry}'") == ["config/entry-outside"]


@pytest.mark.parametrize(
    ("entry", "runtime", "fits"),
    [
        ("a.ts", "nodejs20.x", True),
        ("a.mjs", "python3.12", False),
        ("a.py", "python3.12", True),
        ("a.py", "nodejs20.x", False),
        ("main.go", "nodejs20.x", True),
    ],
)
def test_an_entry_fits_its_runtime(entry: str, runtime: str, *, fits: bool) -> None:
    assert codes(f"entry: {entry}", runtime=runtime) == ([] if fits else ["config/entry-runtime"])


@pytest.mark.parametrize("key", ["build", "checks", "include", "package"])
def test_an_existing_image_cannot_be_combined_with_settings_of_builds(key: str) -> None:
    assert codes(f"image: r.example/a:1\n{key}: {{}}") == ["config/bad-value"]
    assert codes("image: r.example/a:1\nmemory: 256") == []


def test_the_runtime_of_a_function_wins_over_that_of_the_provider() -> None:
    assert codes("entry: a.py\nruntime: python3.12") == []


@pytest.mark.parametrize(
    ("trigger", "provider", "expected"),
    [
        ("{type: http}", "cloud1-lambda", []),
        ("{type: queue}", "host2", ["config/trigger-unsupported"]),
        ("{type: amqp}", "host2", []),
        ("{type: queue}", "of-a-plugin", []),
        ("{type: cron, schedule: every day}", "cloud1-lambda", ["config/bad-schedule"]),
        ("{type: cron, schedule: '${env:WHEN}'}", "cloud1-lambda", []),
        ("{type: queue, batchSize: 11}", "cloud1-lambda", ["config/batch-window"]),
        ("{type: queue, batchSize: 10}", "cloud1-lambda", []),
        (
            "{type: queue, batchSize: 11, maximumBatchingWindowSeconds: 1}",
            "cloud1-lambda",
            [],
        ),
    ],
)
def test_a_trigger_must_be_supported_and_valid(
    trigger: str, provider: str, expected: list[str]
) -> None:
    assert codes(f"entry: a.ts\ntriggers: [{trigger}]", provider) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("layers: [shared]", []),
        ("layers: ['arn:aws:lambda:x']", []),
        ("layers: [shard]", ["config/unknown-layer"]),
        ("resources: ['arn:aws:x']", ["config/unknown-resource"]),
        ("resources: [orders-db, users-db]", ["config/unknown-resource"]),
        ("addons: [mail, '${env:ADDON}']", []),
        ("addons: [male]", ["config/unknown-addon"]),
    ],
)
def test_a_function_names_only_listed_parts(text: str, expected: list[str]) -> None:
    assert codes(f"entry: a.ts\n{text}") == expected


@pytest.mark.parametrize(
    ("checks", "expected"),
    [
        ("{name: a, expect: {status: 200}}", []),
        ("{name: a, expect: {}}", ["config/bad-value"]),
        (
            "{name: a, expect: {status: 200}}, {name: a, expect: {status: 200}}",
            ["config/duplicate-name"],
        ),
    ],
)
def test_a_check_has_a_name_of_its_own_and_expects_something(
    checks: str, expected: list[str]
) -> None:
    assert codes(f"{{name: api, entry: a.ts, checks: [{checks}]}}") == expected


def test_layers_of_a_provider_without_layers_are_ignored_with_a_warning() -> None:
    assert codes("entry: a.ts\nlayers: [shared]", "host1") == ["config/layers-ignored"]
    assert codes("entry: a.ts\nlayers: []", "host1") == []
