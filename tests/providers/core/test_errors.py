"""Rejected calls and invalid settings of providers as problems."""

import pytest
from msgspec.structs import replace

from fabric.model.problems import ConfigSpot, FabricError, Problem, UntouchedError
from fabric.model.secrets.secret import Secret
from fabric.providers.core.contract import CallContext
from fabric.providers.core.errors import (
    Quoted,
    RefusedCallError,
    attach_error_spot,
    convert_call_errors,
    convert_refusals,
    extend_redaction,
    ignore_missing,
    mark_untouched,
    redact_progress,
    refuse_other_host,
    refuse_plain,
    refuse_unsendable,
    refuse_without_version,
    require_variables,
)
from fabric.providers.core.redaction import Redaction
from fabric.system.retry import TransientError
from tests.support.orders import order

NOTHING = Redaction(Secret(frozenset()))
PROBLEM = Problem("provider/failed", "no")


def judged(whose: str, error: RefusedCallError, quoted: Quoted) -> Problem:
    return Problem("provider/refused", f"{whose}: {quoted(error.words)}")


def test_a_rejection_is_a_problem_of_its_function() -> None:
    with pytest.raises(FabricError) as caught, convert_refusals("`hello`", str.upper, judged):
        raise RefusedCallError(400, "bad name", "PUT /hello")
    assert caught.value.first == Problem("provider/refused", "`hello`: BAD NAME")


def test_an_unreachable_provider_is_named_as_such() -> None:
    with pytest.raises(FabricError) as caught, convert_refusals("`hello`", str.upper, judged):
        raise TransientError("timed out")
    assert caught.value.first.code == "provider/unreachable"
    assert caught.value.first.message == "`hello`: TIMED OUT"


def test_no_message_shows_a_value_of_an_order() -> None:
    value = "hush-hush-hush"
    secret = order("hello", API_TOKEN=value)
    with (
        pytest.raises(FabricError) as caught,
        convert_call_errors("`hello`", judged, NOTHING, [secret]),
    ):
        raise RefusedCallError(400, "invalid value hush-hush-hush", "PUT /hello")
    assert "hush" not in caught.value.first.message


def test_secret_values_of_an_order_are_hidden_whatever_their_name() -> None:
    one = replace(order("hello", COLOR="a-long-secret-value"), secret=frozenset({"COLOR"}))
    assert "a-long-secret-value" not in extend_redaction(NOTHING, [one]).over("a-long-secret-value")
    plain = order("hello", COLOR="a-long-plain-value")
    assert extend_redaction(NOTHING, [plain]).over("a-long-plain-value") == "a-long-plain-value"


def test_progress_is_redacted_like_errors() -> None:
    heard: list[str] = []
    watch = redact_progress(CallContext(heard.append, lambda: True), str.upper)
    watch.hear("working")
    assert heard == ["WORKING"]
    assert watch.is_to_end()


def test_an_error_without_words_shows_its_status() -> None:
    assert RefusedCallError(418, "", "GET /").words == "418"


def delete(status: int) -> None:
    with ignore_missing():
        raise RefusedCallError(status, "no", "DELETE /a")


def test_only_a_missing_resource_is_ignored() -> None:
    delete(404)
    with pytest.raises(RefusedCallError):
        delete(403)


def test_an_error_before_any_call_leaves_the_known_state() -> None:
    with pytest.raises(UntouchedError) as caught, mark_untouched():
        raise FabricError(PROBLEM)
    assert caught.value.problems == (PROBLEM,)


def test_a_problem_gets_the_place_of_its_trigger_unless_it_has_one() -> None:
    named = replace(PROBLEM, about=ConfigSpot("other"))
    with pytest.raises(UntouchedError) as caught, attach_error_spot("hello", 1):
        raise UntouchedError(PROBLEM, named)
    assert [one.about for one in caught.value.problems] == [
        ConfigSpot("hello", 1),
        ConfigSpot("other"),
    ]


def test_all_missing_variables_are_reported_together() -> None:
    with pytest.raises(FabricError) as caught:
        require_variables("cloud4-fc", {"A": "", "B": "b"}, ("A", "B", "C"))
    assert caught.value.first.message == (
        "missing credentials for `cloud4-fc`: `A` and `C` not set"
    )


def test_a_value_that_is_escaped_can_contain_any_character() -> None:
    require_variables("p", {"A": "a b\n"}, ("A",), any_letters=("A",))
    with pytest.raises(FabricError):
        require_variables("p", {"A": "a b\n"}, ("A",))


@pytest.mark.parametrize(
    ("value", "what"),
    [
        ("a\nb", "a line break"),
        ("a b", "a character"),
        ("ü", "a character"),
        ("a\x00", "a character"),
    ],
)
def test_a_value_that_cannot_be_sent_is_refused_without_showing_it(value: str, what: str) -> None:
    with pytest.raises(FabricError) as caught:
        refuse_unsendable("TOKEN", value)
    assert caught.value.first.message.startswith(f"`TOKEN` contains {what} that is invalid")
    refuse_unsendable("TOKEN", "plain-Token_1.2+/=")


@pytest.mark.parametrize("region", ["evil.example/", "a.b", "a@b", "EU", "-a", ""])
def test_a_region_cannot_change_the_host(region: str) -> None:
    with pytest.raises(FabricError):
        refuse_other_host("REGION", region)
    refuse_other_host("REGION", "us-south2")


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("http://api.example.com", "credentials/plain-endpoint"),
        ("api.example.com", "credentials/unreadable"),
        ("ftp://api.example.com", "credentials/unreadable"),
    ],
)
def test_an_endpoint_must_be_private(url: str, code: str) -> None:
    with pytest.raises(FabricError) as caught:
        refuse_plain("URL", url)
    assert caught.value.first.code == code


@pytest.mark.parametrize("url", ["", "https://api.example.com", "http://localhost:8080"])
def test_https_and_this_machine_are_private(url: str) -> None:
    refuse_plain("URL", url)


def test_an_order_of_one_version_only_fails_without_it() -> None:
    refuse_without_version(order("hello"))
    with pytest.raises(FabricError) as caught:
        refuse_without_version(replace(order("hello"), only_version=True, version="7"))
    assert caught.value.first.code == "rollback/version-gone"
