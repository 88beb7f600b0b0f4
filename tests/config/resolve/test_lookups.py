"""References such as `${ssm:NAME}` in a config."""

from collections.abc import Mapping

import pytest
from msgspec.structs import replace

from fabric.config.load import BindingInputs, ConfigText, load_config
from fabric.config.values import Config
from fabric.model.bindable import SecretUse
from fabric.model.lookups import LookupKind, LookupPlace, LookupValue, NamedLookup, SecretPin
from fabric.model.problems import FabricError, Problem
from fabric.model.secrets.secret_pins import format_pin
from tests.support.config_texts import HEAD, NO_ENV, ONE

_PIN = SecretPin(LookupKind.SECRETS_MANAGER, "db#password", "1" * 32)
_VALUES = {
    ("ssm", "/shop/url"): LookupValue("https://mail.test"),
    ("tf", "infra#password"): LookupValue("hidden-word", is_secret=True),
    ("secretsmanager", "db#password"): LookupValue("", is_secret=True, pin=_PIN),
    ("aws", "accountId"): LookupValue("123456789012"),
    ("cfn", "us-east-1:net.Vpc"): LookupValue("vpc-1"),
}


def read(kind: LookupKind, name: str, _place: LookupPlace) -> LookupValue | None:
    return _VALUES.get((kind.value, name))


def load(
    text: str,
    *,
    reads: bool = True,
    use: SecretUse = SecretUse.READ,
    env: Mapping[str, str] = NO_ENV,
) -> Config:
    bindings = BindingInputs(read_lookup=read if reads else None, secret_use=use)
    return load_config(ConfigText("fabric.yml", text.encode(), env, "dev", bindings=bindings))


def env_of(value: str, *, reads: bool = True) -> str:
    return dict(load(f"{HEAD}{ONE}env: {{A: '{value}'}}\n", reads=reads).functions[0].env)["A"]


def problem_of(
    value: str, use: SecretUse = SecretUse.READ, env: Mapping[str, str] = NO_ENV
) -> Problem:
    with pytest.raises(FabricError) as raised:
        load(f"{HEAD}{ONE}env: {{A: '{value}'}}\n", use=use, env=env)
    return raised.value.first


def test_a_reference_is_filled_like_other_bindings() -> None:
    assert env_of("${ssm:/shop/url}/send") == "https://mail.test/send"
    assert env_of("${ssm:/none,https://${aws:accountId}.test}") == "https://123456789012.test"


def test_a_secret_is_marked_as_one() -> None:
    config = load(f"{HEAD}{ONE}env: {{A: '${{tf:infra#password}}'}}\n")
    assert "hidden-word" in config.document.secret_values.reveal()
    assert "hidden-word" not in config.document.resolved


def test_a_secret_is_a_placeholder_with_its_version() -> None:
    config = load(f"{HEAD}{ONE}env: {{A: 'db://${{secretsmanager:db#password,none}}'}}\n")
    assert dict(config.functions[0].env)["A"] == f"db://{format_pin(replace(_PIN, default='none'))}"
    assert config.document.secret_names == {"A"}
    assert "pinned" not in config.document.resolved


@pytest.mark.parametrize(
    "setting",
    ["memory: '${secretsmanager:db#password}'", "timeout: '${secretsmanager:db#password}'"],
)
def test_a_setting_that_is_needed_before_the_deploy_cannot_be_a_secret(setting: str) -> None:
    with pytest.raises(FabricError) as raised:
        load(f"{HEAD}functions: [{{name: a, entry: a.ts, {setting}}}]\n")
    assert [one.code for one in raised.value.problems] == ["config/late-value"]
    assert "${secretsmanager:db#password}" in raised.value.first.message


def test_sections_without_effect_can_contain_secrets() -> None:
    assert load(f"{HEAD}{ONE}alerts: {{url: '${{secretsmanager:db#password}}'}}\n").functions


def test_a_reference_that_does_not_exist_is_an_error_with_its_place() -> None:
    found = problem_of("${cfn:data.Table}")
    assert (found.code, found.where.line if found.where else 0) == (
        "config/unresolved-reference",
        4,
    )


def test_a_stack_can_be_in_another_region() -> None:
    assert env_of("${cfn(us-east-1):net.Vpc}") == "vpc-1"
    assert env_of("${cfn(us-east-1):net.None,${cfn(us-east-1):net.Vpc}}") == "vpc-1"
    found = problem_of("${cfn(us-east-1):net.None}")
    assert found.message == "`${cfn(us-east-1):net.None}` does not exist and has no default"
    assert env_of("${cfn(us-east-1):net.Vpc}", reads=False) == "${cfn(us-east-1):net.Vpc}"


def test_unread_references_stay_as_they_are() -> None:
    assert env_of("${ssm:/shop/url}", reads=False) == "${ssm:/shop/url}"
    assert env_of("${ssm:/shop/url,local}", reads=False) == "local"


def test_requests_without_a_key_cannot_use_references() -> None:
    found = problem_of("${ssm:/shop/url}", SecretUse.REFUSED)
    assert found.code == "config/unresolved-reference"


@pytest.mark.parametrize(
    "text",
    ["${aws:username}", "${aws:SourceIp}", "${AWS::Region}", "${aws:PrincipalTag/a}", "${aws:-x}"],
)
def test_variables_of_iam_and_cloudformation_are_not_changed(text: str) -> None:
    assert env_of(text) == text


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("accountID", "did you mean `accountId`?"),
        ("stackName", "write ${aws:accountId}, ${aws:region} or ${aws:partition}"),
    ],
)
def test_unknown_values_of_aws_are_reported(name: str, hint: str) -> None:
    found = problem_of(f"arn:aws:iam::${{aws:{name}}}:role/run")
    assert (found.code, found.hint) == ("config/unresolved-reference", hint)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("${ssm:}", "write ${ssm:/PATH} or ${ssm:/PATH:VERSION}"),
        ("${cfn:data}", "write ${cfn:STACK.OUTPUT} or ${cfn(REGION):STACK.OUTPUT}"),
        ("${cfn():net.Vpc}", "write ${cfn:STACK.OUTPUT} or ${cfn(REGION):STACK.OUTPUT}"),
        ("${cfn(Ohio):net.Vpc}", "write ${cfn:STACK.OUTPUT} or ${cfn(REGION):STACK.OUTPUT}"),
        (
            "${tf:infra.tfstate}",
            "write ${tf:FILE#OUTPUT}, with a path, s3://BUCKET/KEY, gs://BUCKET/OBJECT or https://",
        ),
        ("${smm:/shop/url}", "did you mean `${ssm…}`?"),
    ],
)
def test_a_wrong_reference_gets_a_hint(text: str, hint: str) -> None:
    assert problem_of(text).hint == hint


class Reader:
    """Records what is read, and where."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.places: list[LookupPlace] = []

    def read(self, kind: LookupKind, name: str, place: LookupPlace) -> LookupValue | None:
        self.names.append(NamedLookup(kind, name).text)
        self.places.append(place)
        return LookupValue("value")


def read_all(text: str, env: Mapping[str, str] = NO_ENV, provider: str = "") -> Reader:
    reader = Reader()
    bindings = BindingInputs(read_lookup=reader.read, params={"r": "eu-west-3"})
    load_config(ConfigText("fabric.yml", text.encode(), env, "dev", provider, bindings=bindings))
    return reader


_OVERRIDE = "providerOverrides: {second: {name: cloud1-lambda, region: eu-north-1}}\n"


@pytest.mark.parametrize(
    ("region", "provider", "expected"),
    [
        ("${env:R,eu-west-1}", "", "eu-west-1"),
        ("${param:r}", "", "eu-west-3"),
        ("us-${stage}", "", "us-dev"),
        ("eu-central-1", "second", "eu-north-1"),
    ],
)
def test_references_are_read_in_the_region_of_the_chosen_provider(
    region: str, provider: str, expected: str
) -> None:
    head = HEAD.replace("}", f", region: '{region}'}}")
    reader = read_all(f"{head}{_OVERRIDE}{ONE}env: {{A: '${{ssm:/a}}'}}\n", provider=provider)
    assert [place.region for place in reader.places] == [expected]


def test_only_references_of_the_stage_are_read() -> None:
    reader = read_all(
        f"""{HEAD}{ONE}# such as ${{ssm:/comment}}
env: {{A: '${{ssm:/dev/a}}', B: '${{ssm:/b}}', C: '${{cfn:data.C,${{ssm:/default}}}}'}}
stages:
  prod: {{env: {{A: '${{ssm:/prod/a}}'}}}}
  dev: {{env: {{B: '${{ssm:/dev/b}}'}}}}
providerOverrides: {{other: {{name: cloud1-lambda, region: '${{ssm:/region}}'}}}}
"""
    )
    expected = ["${ssm:/dev/a}", "${ssm:/dev/b}", "${cfn:data.C}"]
    assert reader.names == expected
    assert [one.text for one in reader.places[0].names] == expected


def test_unread_references_are_those_of_the_stage() -> None:
    text = f"{HEAD}{ONE}env: {{A: '${{ssm:/${{stage}}/a}}'}}\n"
    config = load(f"{text}stages: {{prod: {{env: {{A: '${{ssm:/b}}'}}}}}}\n", reads=False)
    assert [one.text for one in config.document.bindings.references] == ["${ssm:/dev/a}"]


@pytest.mark.parametrize("reads", [True, False])
@pytest.mark.parametrize(
    "text",
    [
        HEAD.replace("}", ", region: '${ssm:/a}'}") + ONE,
        HEAD.replace("}", ", region: '${ssm:/a,eu-west-1}'}") + ONE,
        HEAD.replace("cloud1-lambda", "'${ssm:/a}'") + ONE,
        HEAD.replace("shop", "'${ssm:/a}'") + ONE,
        HEAD + ONE.replace("src/api.ts", "'${ssm:/a}'"),
        HEAD + ONE.replace("api,", "'${ssm:/a}',"),
        HEAD
        + ONE
        + "backend: {kind: objstore1, objstore1Bucket: '${param:p}'}\nparams: {p: '${ssm:/a}'}\n",
    ],
)
def test_settings_by_which_state_is_found_cannot_contain_references(
    text: str, *, reads: bool
) -> None:
    with pytest.raises(FabricError) as raised:
        load(text, reads=reads)
    assert [one.code for one in raised.value.problems] == ["config/unresolved-reference"]
    assert "cannot contain a reference" in raised.value.first.message
    assert raised.value.first.where


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ("${ssm:/shop/${stage}/url}", "${ssm:/shop/dev/url}"),
        ("${ssm:/${env:X,a}/url,none}", "${ssm:/a/url}"),
        ("${ssm:/url,${env:X,a},b}", "${ssm:/url}"),
        ("${secretsmanager:shop-${param:r}#key}", "${secretsmanager:shop-eu-west-3#key}"),
    ],
)
def test_names_of_references_can_contain_bindings(value: str, name: str) -> None:
    assert read_all(f"{HEAD}{ONE}env: {{A: '{value}'}}\n").names == [name]


@pytest.mark.parametrize("inner", ["${secret:KEY}", "${ssm:/shop/url}"])
def test_names_of_references_cannot_contain_secrets_and_references(inner: str) -> None:
    found = problem_of(f"${{ssm:/{inner}}}", env={"KEY": "hidden-word"})
    assert found.code == "config/bad-binding"
    assert "hidden-word" not in found.message


@pytest.mark.parametrize(
    "text", ["${cfn:data}", "${ssm:/a b}", "${cfn:${stage}}", "${ssm:/${other}}", "${tf}"]
)
def test_a_wrong_reference_is_called_an_invalid_reference(text: str) -> None:
    found = problem_of(text)
    assert found.code == "config/bad-binding"
    assert found.message.startswith("invalid reference `${")


def test_missing_credentials_are_reported_once() -> None:
    def refuse(kind: LookupKind, name: str, _place: LookupPlace) -> LookupValue | None:
        raise FabricError(Problem("credentials/missing", f"cannot read {kind}:{name}", "set them"))

    text = f"{HEAD}{ONE}env: {{A: '${{ssm:/a}}', B: '${{cfn:b.B}}'}}\n"
    with pytest.raises(FabricError) as raised:
        load_config(
            ConfigText(
                "fabric.yml", text.encode(), {}, "dev", bindings=BindingInputs(read_lookup=refuse)
            )
        )
    assert [one.message for one in raised.value.problems] == ["cannot read ssm:/a"]


@pytest.mark.parametrize("setting", ["deadLetter: '${ssm:/shop/dead}'", "kmsKey: '${cfn:a.Key}'"])
def test_an_unread_reference_is_not_checked_for_its_form(setting: str) -> None:
    config = load(f"{HEAD}functions: [{{name: a, entry: a.ts, {setting}}}]\n", reads=False)
    assert dict(config.functions[0].settings)
    with pytest.raises(FabricError, match="must be an ARN|does not exist"):
        load(f"{HEAD}functions: [{{name: a, entry: a.ts, {setting}}}]\n")


def test_a_caller_without_a_key_reads_no_output_of_another_service() -> None:
    problem = problem_of("${service:net.Url}", SecretUse.REFUSED)
    assert problem.code == "config/unresolved-reference"
    assert "API key" in problem.message
