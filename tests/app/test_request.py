"""Options of a command line as values."""

import pytest

from fabric.app.request import Where, parse_caps, parse_params
from fabric.engine.schedule import Caps
from fabric.model.problems import FabricError


def test_params_are_names_with_values() -> None:
    assert parse_params(["a=1", "b=", "c=x=y"]) == (("a", "1"), ("b", ""), ("c", "x=y"))
    assert parse_params([]) == ()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["secret"], "invalid value for --param: `secret`"),
        (["=hush"], "invalid value for --param: `=`"),
        (["a=1", "a=2"], "duplicate name in --param: `a`"),
    ],
)
def test_an_invalid_param_is_refused_without_its_value(words: list[str], message: str) -> None:
    with pytest.raises(FabricError) as caught:
        parse_params(words)
    assert caught.value.first.message == message


@pytest.mark.parametrize(
    ("text", "cores", "caps"),
    [
        ("16", 4, Caps(16, 4)),
        ("2", 4, Caps(2, 2)),
        ("50%", 4, Caps(2, 2)),
        ("50%", 3, Caps(2, 2)),
        ("1%", 4, Caps(1, 1)),
        ("200%", 4, Caps(8, 4)),
    ],
)
def test_cpu_tasks_are_limited_to_the_cores(text: str, cores: int, caps: Caps) -> None:
    assert parse_caps(text, cores) == caps


@pytest.mark.parametrize("text", ["", "0", "-1", "1.5", "0%", "%", "5%%", "5% ", "²", "many"])
def test_another_limit_is_refused(text: str) -> None:
    with pytest.raises(FabricError) as caught:
        parse_caps(text, 4)
    assert caught.value.first.code == "usage/bad-concurrency"


def test_how_much_is_read_can_be_narrowed_step_by_step() -> None:
    where = Where().for_records().without_secrets().with_text(b"service: shop")
    reading = where.reading
    assert (reading.only_place, reading.secrets, reading.text) == (True, False, b"service: shop")
    assert Where().reading.secrets
