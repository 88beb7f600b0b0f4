"""What no message may show: values that providers quote, however they fold, quote and cut them."""

import base64
import html
import json
import re
from collections.abc import Callable, Iterator
from functools import partial
from urllib.parse import quote

import pytest
from botocore.exceptions import ClientError, ParamValidationError
from hypothesis import given
from hypothesis import strategies as st

from fabric.model.problems import FabricError
from fabric.providers.cloud1.core import client as aws_client
from fabric.providers.cluster.client import ClusterPlace, classify_rejection
from fabric.providers.core.errors import convert_refusals
from fabric.providers.core.redaction import Redaction, TalkRedaction, build_redaction, redact_errors
from fabric.providers.edge1 import client as edge1_client

WHOSE = "function `hello`"
# Around a secret: none of its letters.
PAD = st.text("0123456789 =:,.{}\n", max_size=900)
# So much of a message that is cut off that the cut goes through what follows.
UP_TO_A_CUT = st.integers(480, 610).map(lambda count: "0" * count)
_WORD = st.text("abcdefghijklmnopqrstuvwxyzé\"'\\/", min_size=4, max_size=12)
_BLANKS = st.text(" \t\n", min_size=1, max_size=3)


@st.composite
def secrets(draw: st.DrawFn) -> str:
    words = draw(st.lists(_WORD, min_size=1, max_size=4))
    gaps = [draw(_BLANKS) for _ in words]
    return "".join(word + gap for word, gap in zip(words, gaps, strict=True)) + draw(_WORD)


def folded(text: str) -> str:
    return " ".join(text.split())


def broken(text: str) -> str:
    return re.sub(r"\s+", "\n    ", text)


def quoted_twice(text: str) -> str:
    return json.dumps(json.dumps(text))


QUOTES: tuple[Callable[[str], str], ...] = (
    str,
    json.dumps,
    partial(json.dumps, ensure_ascii=False),
    repr,
    quoted_twice,
    lambda text: json.dumps({"said": text}, indent=2),
)
FOLDS: tuple[Callable[[str], str], ...] = (str, folded, broken)


def parts(secret: str) -> Iterator[str]:
    """All of it that is more than a few letters."""
    for run in re.findall("[a-z]{6,}", secret):
        yield from (run[at : at + 6] for at in range(len(run) - 5))


def no_part(secret: str, shown: str) -> bool:
    return not any(one in shown for one in parts(secret))


@given(secrets(), PAD, PAD, st.sampled_from(QUOTES), st.sampled_from(FOLDS))
def test_a_secret_is_hidden_however_it_is_quoted_and_folded(
    secret: str, before: str, after: str, quote: Callable[[str], str], fold: Callable[[str], str]
) -> None:
    text = fold(before + quote(secret) + after)
    assert no_part(secret, build_redaction([secret], ()).over(text)), text


@given(secrets(), PAD, PAD)
def test_lines_of_a_talk_show_no_secret_of_many_lines(secret: str, before: str, after: str) -> None:
    talk = TalkRedaction(build_redaction([secret], ()))
    for line in f"{before}{secret}{after}".encode().splitlines():
        assert no_part(secret, talk.line(line))


def at_edge1(text: str, hide: Redaction) -> None:
    with convert_refusals(WHOSE, hide.quote, edge1_client.classify_refusal):
        raise edge1_client.Edge1RefusedError(400, (edge1_client.Edge1Fault(10021, text),), "PUT /x")


def at_edge1_refused(text: str, hide: Redaction) -> None:
    with convert_refusals(WHOSE, hide.quote, edge1_client.classify_refusal):
        raise edge1_client.Edge1RefusedError(400, (edge1_client.Edge1Fault(10100, text),), "PUT /x")


def at_cloud1(text: str, hide: Redaction) -> None:
    with aws_client.convert_client_errors(WHOSE, hide.quote):
        said = {"Code": "InvalidParameterValueException", "Message": text}
        raise ClientError({"Error": said}, "CreateFunction")


def at_cloud1_misfit(text: str, hide: Redaction) -> None:
    with aws_client.convert_client_errors(WHOSE, hide.quote):
        raise ParamValidationError(report=f"Invalid type, value: {text}")


def at_the_cluster(text: str, _hide: Redaction) -> None:
    raise FabricError(classify_rejection(ClusterPlace("config", "context", "space"), text))


PROVIDERS = (at_edge1, at_edge1_refused, at_cloud1, at_cloud1_misfit, at_the_cluster)


@given(secrets(), UP_TO_A_CUT, PAD, st.sampled_from(PROVIDERS), st.sampled_from(QUOTES))
def test_no_provider_cuts_a_secret_so_that_its_beginning_is_shown(
    secret: str,
    before: str,
    after: str,
    fail: Callable[[str, Redaction], None],
    quote: Callable[[str], str],
) -> None:
    hide = build_redaction([secret], ())
    with pytest.raises(FabricError) as raised, redact_errors(hide):
        fail(before + quote(secret) + after, hide)
    message = raised.value.first.message
    assert no_part(secret, message), message
    assert len(message) < 800


def test_plain_words_around_a_secret_stay() -> None:
    hide = build_redaction(["pass  word\tof mine"], ())
    assert hide.over("it said 'pass word of mine', and so on") == "it said '[REDACTED]', and so on"


def test_secret_is_redacted_regardless_of_trailing_whitespace() -> None:
    assert build_redaction(["hunter-two \n"], ()).over("<hunter-two>") == "<[REDACTED]>"


def test_overlapping_secrets_are_both_redacted() -> None:
    hide = build_redaction(["first second", "second third-one"], ())
    assert hide.over("a first second third-one z") == "a [REDACTED] z"


SENT: tuple[Callable[[str], str], ...] = (
    lambda text: quote(text),
    lambda text: quote(text, safe=""),
    lambda text: re.sub("%..", lambda found: found[0].lower(), quote(text, safe="")),
    lambda text: html.escape(text),
    lambda text: base64.b64encode(text.encode()).decode(),
    lambda text: base64.b64encode(f"u:{text}".encode()).decode(),
    lambda text: base64.b64encode(f"me:{text}".encode()).decode(),
    lambda text: base64.b64encode(f"who:{text}!".encode()).decode(),
    lambda text: base64.urlsafe_b64encode(f"me:{text}".encode()).decode(),
)


@pytest.mark.parametrize("sent", SENT)
def test_a_secret_is_hidden_in_the_forms_in_which_it_is_sent(sent: Callable[[str], str]) -> None:
    word = "a/b<secret>&'\u00fc'~?>"
    shown = build_redaction([word], ()).over(f"it said {sent(word)}, and so on")
    assert "[REDACTED]" in shown
    assert len(shown) < len("it said [REDACTED], and so on") + 12


def test_a_secret_of_one_letter_hides_no_words() -> None:
    assert build_redaction(["e"], ()).over("the release") == "the release"
