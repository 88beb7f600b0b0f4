"""Values that become known during a run are checked by the shapes of the config."""

import pytest

from fabric.config.rules.late_settings import find_extension_problems, find_setting_problems


@pytest.mark.parametrize(
    "setting",
    [
        ("description", "5"),
        ("async", '{"maximumEventAge": 60}'),
        ("layers", '["arn:aws:lambda:eu-central-1:111122223333:layer:a:1"]'),
        ("functionUrl", '{"cors": true}'),
        ("unknown-to-the-shapes", "["),
    ],
)
def test_a_setting_that_fits_its_shape_has_no_problem(setting: tuple[str, str]) -> None:
    assert list(find_setting_problems((setting,))) == []


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        (("async", '{"maximumEventAge": 5}'), "async.maximumEventAge"),
        (("async", "text"), "async"),
        (("async", '{"onFailure": "jobs"}'), "async.onFailure"),
    ],
)
def test_a_setting_that_does_not_fit_is_named(setting: tuple[str, str], message: str) -> None:
    [problem] = find_setting_problems((setting,))
    assert f"`{message}`" in problem.message


def test_an_extension_is_checked_by_the_shape_of_its_provider() -> None:
    wrong = {"roleArn": ["a"], "http": {"cors": 5}}
    assert list(find_extension_problems("cloud1-lambda", {})) == []
    assert {one.code for one in find_extension_problems("cloud1-lambda", wrong)}
    assert list(find_extension_problems("no-such-provider", wrong)) == []
