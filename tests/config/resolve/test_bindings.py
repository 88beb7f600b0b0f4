"""Bindings: what they give, what they refuse, and what stays hidden."""

import json

import pytest

from fabric.config.dotenv import parse_dotenv
from fabric.config.values import QueueTrigger
from fabric.graph.compile import compile_graph
from fabric.graph.service_unit import ServiceUnit
from fabric.model.names import Verb
from fabric.model.secrets.secrecy import redact_values
from tests.support.config_texts import HEAD, ONE, codes, loaded, problems, warned


def _bound(value: str, env: dict[str, str], more: str = "") -> str:
    return dict(loaded(f"{HEAD}{ONE}env: {{A: '{value}'}}\n{more}", env).functions[0].env)["A"]


@pytest.mark.parametrize(
    ("written", "env", "value"),
    [
        ("${env:X}", {"X": "1"}, "1"),
        ("${env:X}", {"X": ""}, ""),
        ("${env:X,d}", {"X": ""}, ""),
        ("${env:X,d}", {}, "d"),
        ("${env:X,}", {}, ""),
        ("${env:X,a,b}", {}, "a,b"),
        ('${env:X,{"a":1}}', {}, '{"a":1}'),
        ("${env:X,${env:Y,z}}", {}, "z"),
        ("a ${env:X} b ${stage} c", {"X": "1"}, "a 1 b dev c"),
        ("${AWS::Region} ${aws:username} $X ${", {}, "${AWS::Region} ${aws:username} $X ${"),
        ("${env:X}", {"X": "${env:Y}"}, "${env:Y}"),
        ("${secret:K}", {"K": "v"}, "v"),
    ],
)
def test_a_binding_is_filled(written: str, env: dict[str, str], value: str) -> None:
    assert _bound(written, env) == value


@pytest.mark.parametrize(
    ("written", "code"),
    [
        ("${env:X}", "config/unset-variable"),
        ("${env:}", "config/bad-binding"),
        ("${env}", "config/bad-binding"),
        ("${env:1}", "config/bad-binding"),
        ("${env:X", "config/bad-binding"),
        ("${stage:x}", "config/bad-binding"),
        ("${secret:K,d}", "config/bad-binding"),
        ("${secret:K}", "config/unset-secret"),
        ("${evn:X}", "config/unknown-binding"),
        ("${ssm(us-east-1):/a}", "config/bad-binding"),
        ("${secretsmanager(us-east-1):a}", "config/bad-binding"),
        ("${env:A," * 10 + "}" * 10, "config/binding-depth"),
        pytest.param("${stage}" * 60_000, "config/binding-limit", id="too-many"),
    ],
)
def test_a_binding_that_cannot_be_filled_is_refused(written: str, code: str) -> None:
    (found,) = problems(f"{HEAD}{ONE}env: {{A: '{written}'}}\n")
    assert found.code == code
    assert found.where is not None
    assert (found.where.line, found.where.column) == (4, 10)


def test_an_unset_variable_is_named() -> None:
    (found,) = problems(f"{HEAD}{ONE}env: {{A: '${{env:WHO}}'}}\n")
    assert "`WHO`" in found.message


def test_bindings_work_in_names_lists_and_nested_maps() -> None:
    text = "service: ${env:S,shop}-${stage}\nprovider: {name: '${env:P,host1}', runtime: nodejs}\n"
    config = loaded(text + ONE + "hooks: {a: [{b: '${env:B}'}]}\n", {"B": "deep"})
    assert config.service == "shop-dev"
    assert config.provider.id == "host1"
    assert json.loads(config.document.resolved)["hooks"] == {"a": [{"b": "deep"}]}
    assert config.document.bindings.names == {"S", "P", "B"}


def test_a_binding_may_stand_for_a_number_or_a_flag() -> None:
    trigger = "{type: queue, queue: q, batchSize: '${env:N}', enabled: '${env:E}'}"
    text = f"{HEAD}functions: [{{name: a, entry: a.ts, triggers: [{trigger}]}}]"
    config = loaded(text, {"N": "7", "E": "false"})
    assert config.functions[0].triggers == (QueueTrigger("q", 7, enabled=False),)
    assert codes(text, {"N": "seven", "E": "false"}) == ["config/wrong-type"]
    assert codes(text, {"N": "9" * 70, "E": "false"}) == ["config/wrong-type"]


def test_error_message_does_not_show_bound_values() -> None:
    text = f"{HEAD}functions: [{{name: a, entry: a.ts, memory: '${{secret:M}}'}}]"
    (found,) = problems(text, {"M": "hunter2"})
    assert "hunter2" not in found.message + found.frame


@pytest.mark.parametrize(
    ("secrets", "value"),
    [
        ("{K: plain}", "plain"),
        ("{K: 5}", "5"),
        ("{K: 'secret://L', L: 'secret://M', M: x}", "x"),
        ("{K: '${env:E}'}", "url://of-env"),
        ("{K: {ref: 'secret://L'}, L: x}", "x"),
        ("[{name: K, ref: E}]", "url://of-env"),
        ("[{name: K, ref: 'secret://L'}, {name: L, ref: 'a b'}]", "a b"),
    ],
)
def test_secret_is_read_from_the_config_or_its_reference(secrets: str, value: str) -> None:
    assert _bound("${secret:K}", {"E": "url://of-env"}, f"secrets: {secrets}") == value


@pytest.mark.parametrize(
    ("secrets", "code"),
    [
        ("{K: 'secret://K'}", "config/secret-depth"),
        ("{K: '${secret:K}'}", "config/secret-depth"),
        ("{K: 'vault://a/b'}", "config/secret-plugin"),
        ("{K: 'secret://NONE'}", "config/unset-secret"),
    ],
)
def test_secret_without_a_valid_source_is_rejected(secrets: str, code: str) -> None:
    assert codes(f"{HEAD}{ONE}env: {{A: '${{secret:K}}'}}\nsecrets: {secrets}") == [code]


def test_references_that_nothing_uses_need_no_plug_in() -> None:
    assert warned(HEAD + ONE + "secrets: {K: 'vault://a/b'}") == []


@pytest.mark.parametrize("stage", ["prod", "production", "live"])
def test_production_stages_take_no_literal_secrets(stage: str) -> None:
    text = HEAD + ONE + "secrets: {K: hunter2, L: 'secret://M', M: '${env:M}', N: 'vault://x'}"
    (found,) = problems(text, stage=stage)
    assert found.code == "config/secret-literal"
    assert "`K`" in found.message
    assert "hunter2" not in found.message + found.frame


def test_no_secret_is_shown_in_the_resolved_document() -> None:
    text = (
        HEAD + ONE + "env: {A: '${secret:K}', B: 'x ${env:DB_PASSWORD}', API_TOKEN: t0ken, "
        "URL: 'https://me:pw@host/x', PLAIN: seen}\n"
        "secrets: [{name: K, ref: r3f}]\n"
        "resources: [{name: db, type: database, envVar: DB, connectionString: 'c0nn'}]\n"
    )
    config = loaded(text, {"r3f": "v4lue", "DB_PASSWORD": "p4ss"})
    for hidden in ("v4lue", "p4ss", "t0ken", "me:pw", "r3f", "c0nn"):
        assert hidden not in config.document.resolved
    assert "seen" in config.document.resolved
    assert config.document.secret_names == {"A", "B", "API_TOKEN", "DB"}


def test_a_dotenv_file_is_read_line_by_line() -> None:
    text = "# no\nA=1\nexport B = two # c\nC='a # b'\nD=\"x\\ny\" # z\nE=\n\nF=a=b#c\n"
    assert parse_dotenv(text).pairs == (
        ("A", "1"),
        ("B", "two"),
        ("C", "a # b"),
        ("D", "x\ny"),
        ("E", ""),
        ("F", "a=b#c"),
    )


@pytest.mark.parametrize("bound", ["${secret:K}", "${env:MY_TOKEN}"])
@pytest.mark.parametrize(
    "text",
    [
        "service: '@'\nprovider: {name: cloud1-lambda, runtime: nodejs20.x}\n" + ONE,
        "service: shop\nprovider: {name: host1, runtime: nodejs20.x, region: '@'}\n" + ONE,
        HEAD + ONE + "extensions: {cloud1-lambda: {region: '@'}}\n",
        HEAD + ONE + "build: {command: [sh, '@']}\n",
        HEAD + "functions: [{name: '@', entry: a.ts}]\n",
        HEAD + "functions: [{name: a, entry: '@.ts'}]\n",
        HEAD + "functions: {a: {entry: '@.ts'}}\n",
        HEAD + "functions: [{name: a, entry: a.ts, include: ['@/**']}]\n",
        HEAD + "functions: [{name: a, entry: a.ts, runtime: '@'}]\n",
    ],
)
def test_printed_and_stored_fields_reject_secrets(text: str, bound: str) -> None:
    found = problems(text.replace("@", bound), {"K": "canary", "MY_TOKEN": "canary"})
    (refused,) = [one for one in found if one.code == "config/secret-here"]
    assert refused.hint
    assert refused.where is not None
    assert refused.where.line
    assert "canary" not in repr(found)


def test_the_arn_of_a_secret_is_not_a_secret() -> None:
    text = HEAD + "functions: [{name: a, entry: a.ts, permissions: [{actions: ['s:G'], resources: "
    text += "['${param:SecretArn}']}]}]\nparams: {SecretArn: '@'}\n"
    arn = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:db"
    assert not problems(text.replace("@", arn), {})
    [found] = problems(text.replace("@", "canary"), {})
    assert found.code == "config/secret-here"


def test_config_holds_its_secret_values_and_does_not_print_them() -> None:
    text = f"{HEAD}{ONE}env: {{A: '${{secret:K}}', B: 'x ${{env:MY_TOKEN}}', C: '${{env:C}}'}}\n"
    config = loaded(text, {"K": "one", "MY_TOKEN": "two", "C": "three"})
    assert config.document.secret_values.reveal() == {"one", "two"}
    assert "secret_values=Secret(***)" in repr(config)


def test_no_message_has_a_secret_in_its_words() -> None:
    layer = "layers: [{name: 'l-${secret:K}', arn: 'arn:x'}]\n"
    (found,) = loaded(HEAD + ONE + layer, {"K": "canary"}).document.warnings
    assert "[REDACTED]" in found.message
    assert "canary" not in found.message


@pytest.mark.parametrize(
    ("text", "values", "shown"),
    [
        ("a-b-c", {"b"}, "a-[REDACTED]-c"),
        ("abc", {"ab", "abc"}, "[REDACTED]"),
        ('{"a":"x\\"y"}', {'x"y'}, '{"a":"[REDACTED]"}'),
        ("abc", {""}, "abc"),
    ],
)
def test_values_are_hidden_wherever_they_stand(text: str, values: set[str], shown: str) -> None:
    assert redact_values(text, values) == shown


@pytest.mark.parametrize(
    "setting", ["layers: ['arn:${secret:K}:1']", "tags: {owner: '${secret:K}'}"]
)
def test_a_secret_in_a_setting_decides_a_deploy_and_is_not_in_the_graph(setting: str) -> None:
    text = f"{HEAD}functions: [{{name: api, entry: a.ts, {setting}}}]\n"
    graphs = [
        repr(compile_graph([ServiceUnit(loaded(text, {"K": value}), "")], Verb.DEPLOY).tasks)
        for value in ("canary-1", "canary-2")
    ]
    assert graphs[0] != graphs[1]
    assert "canary" not in "".join(graphs)


def test_unlisted_name_is_an_error_that_names_where_to_list_it() -> None:
    (secret,) = problems(f"{HEAD}{ONE}env: {{A: '${{secret:DB}}'}}\n")
    assert (secret.code, "`secrets`" in secret.hint) == ("config/unset-secret", True)
    (layer,) = problems(f"{HEAD}functions: [{{name: api, entry: a.ts, layers: [zzz]}}]\n")
    assert (layer.code, "`layers`" in layer.hint) == ("config/unknown-layer", True)


@pytest.mark.parametrize(
    ("line", "framed"),
    [
        ("A: '${secret:DB}'", "A: '${secret:DB}'"),
        ("A: '${secret:DB} x', MY_TOKEN: abc", "A: '${secret:DB} x', MY_TOKEN: [REDACTED]"),
        ("secret: abc, A: '${env:X}'", "secret: [REDACTED]"),
        ("MY_TOKEN: '${secret:DB}'", "MY_TOKEN: [REDACTED]"),
    ],
)
def test_a_frame_keeps_the_name_of_a_secret_and_hides_values(line: str, framed: str) -> None:
    (found,) = problems(f"{HEAD}{ONE}env: {{{line}}}\n")
    assert framed in found.frame
    assert "abc" not in found.frame
