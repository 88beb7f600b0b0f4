"""References such as `${ssm:NAME}` in a config."""

import pytest

from fabric.config.load import BindingInputs, ConfigText, load_config
from fabric.config.values import Config
from fabric.model.bindable import SecretUse
from fabric.model.lookups import LookupKind, LookupValue, NamedLookup
from fabric.model.problems import FabricError, Problem
from tests.support.config_texts import HEAD, ONE

_VALUES = {
    ("ssm", "/shop/url"): LookupValue("https://mail.test"),
    ("secretsmanager", "db#password"): LookupValue("hidden-word", is_secret=True),
    ("aws", "accountId"): LookupValue("123456789012"),
}


def read(kind: LookupKind, name: str, _region: str) -> LookupValue | None:
    return _VALUES.get((kind.value, name))


def load(text: str, *, reads: bool = True, use: SecretUse = SecretUse.READ) -> Config:
    bindings = BindingInputs(read_lookup=read if reads else None, secret_use=use)
    return load_config(ConfigText("fabric.yml", text.encode(), {}, "dev", bindings=bindings))


def env_of(value: str, *, reads: bool = True) -> str:
    return dict(load(f"{HEAD}{ONE}env: {{A: '{value}'}}\n", reads=reads).functions[0].env)["A"]


def problem_of(value: str, use: SecretUse = SecretUse.READ) -> Problem:
    with pytest.raises(FabricError) as raised:
        load(f"{HEAD}{ONE}env: {{A: '{value}'}}\n", use=use)
    return raised.value.first


def test_a_reference_is_filled_like_other_bindings() -> None:
    assert env_of("${ssm:/shop/url}/send") == "https://mail.test/send"
    assert env_of("${ssm:/none,https://${aws:accountId}.test}") == "https://123456789012.test"


def test_a_secret_is_marked_as_one() -> None:
    config = load(f"{HEAD}{ONE}env: {{A: '${{secretsmanager:db#password}}'}}\n")
    assert "hidden-word" in config.document.secret_values.reveal()
    assert "hidden-word" not in config.document.resolved


def test_a_reference_that_does_not_exist_is_an_error_with_its_place() -> None:
    found = problem_of("${cfn:data.Table}")
    assert (found.code, found.where.line if found.where else 0) == (
        "config/unresolved-reference",
        4,
    )


def test_unread_references_stay_as_they_are() -> None:
    assert env_of("${ssm:/shop/url}", reads=False) == "${ssm:/shop/url}"
    assert env_of("${ssm:/shop/url,local}", reads=False) == "local"


def test_requests_without_a_key_cannot_use_references() -> None:
    found = problem_of("${ssm:/shop/url}", SecretUse.REFUSED)
    assert found.code == "config/unresolved-reference"


@pytest.mark.parametrize("text", ["${aws:username}", "${AWS::Region}", "${aws:PrincipalTag/a}"])
def test_variables_of_iam_and_cloudformation_are_not_changed(text: str) -> None:
    assert env_of(text) == text


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("${ssm:}", "write ${ssm:/PATH} or ${ssm:/PATH:VERSION}"),
        ("${cfn:data}", "write ${cfn:STACK.OUTPUT}"),
        ("${tf:infra.tfstate}", "write ${tf:FILE#OUTPUT} or ${tf:s3://BUCKET/KEY#OUTPUT}"),
        ("${smm:/shop/url}", "did you mean `${ssm…}`?"),
    ],
)
def test_a_wrong_reference_gets_a_hint(text: str, hint: str) -> None:
    assert problem_of(text).hint == hint


def test_all_references_of_a_text_are_found() -> None:
    text = "a: ${ssm:/a}\nb: ${cfn:b.B,x}-${aws:region} ${env:C} ${ssm:/a}"
    assert list(NamedLookup.find_all(text)) == [
        NamedLookup(LookupKind.SSM, "/a"),
        NamedLookup(LookupKind.CFN, "b.B"),
        NamedLookup(LookupKind.AWS, "region"),
        NamedLookup(LookupKind.SSM, "/a"),
    ]
