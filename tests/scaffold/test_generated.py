"""New entries of a config, and names that cannot be used."""

import pytest

from fabric.scaffold.generated import (
    build_new_function,
    convert_to_json,
    find_text_complaint,
    find_variable_complaint,
    name_complaint,
    route_complaint,
    schedule_complaint,
    type_complaint,
)


def test_an_http_function_has_the_route_of_its_name() -> None:
    entry = build_new_function("function", "orders", "http", {})
    assert (entry.section, entry.trigger) == ("functions", "http")
    assert entry.fields == {"type": "http", "route": "GET:/orders"}


def test_given_fields_replace_those_of_the_template() -> None:
    entry = build_new_function("worker", "mails", "queue", {"queue": "mails"})
    assert entry.fields["queue"] == "mails"
    assert entry.fields["functionResponseType"] == "ReportBatchItemFailures"


def test_values_of_templates_become_json() -> None:
    assert convert_to_json({"a": ("b", 1, None)}) == {"a": ["b", 1, None]}
    with pytest.raises(TypeError, match="set is not JSON"):
        convert_to_json({"a"})


@pytest.mark.parametrize("name", ["orders", "Orders2", "a-b_c"])
def test_valid_names(name: str) -> None:
    assert name_complaint(name) == ""


@pytest.mark.parametrize(
    "name", ["con", "COM1", "node_modules", "constructor", "__init__", "_fabric", "__proto__"]
)
def test_reserved_names_are_refused(name: str) -> None:
    assert name_complaint(name) != ""


@pytest.mark.parametrize("name", ["", "a b", "a/b", "ü"])
def test_names_that_no_provider_takes_are_refused(name: str) -> None:
    assert name_complaint(name).startswith("must be ")


def test_other_answers_are_checked() -> None:
    assert route_complaint("GET:/a") == ""
    assert route_complaint("a") != ""
    assert schedule_complaint("rate(5 minutes)") == ""
    assert schedule_complaint("soon") != ""
    assert find_variable_complaint("API_KEY") == ""
    assert find_variable_complaint("API-KEY") != ""
    assert type_complaint("database") == ""
    assert type_complaint("sql").startswith("must be one of: ")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("a b", ""),
        ("  ", "must not be empty"),
        ("a\x1b", "must not contain control characters"),
    ],
)
def test_a_text_is_printable(text: str, complaint: str) -> None:
    assert find_text_complaint(text) == complaint
