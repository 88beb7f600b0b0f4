"""A config as text stands where the file would, and gets no more than its writer may know."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from fabric.app.plan import PlanOptions, plan
from fabric.app.request import Request, Where
from fabric.app.settings import Settings
from fabric.app.shortcuts.compiled import compile_or_load
from fabric.app.validate import show_config, validate
from fabric.model.bindable import Bindable, SecretUse
from fabric.model.names import Verb
from fabric.model.outcomes.planned import PlanOutcome
from fabric.model.outcomes.queried import ConfigOutcome
from fabric.model.problems import FabricError, Problem
from tests.support.use_cases import Workplace

HEAD = "service: shop\nprovider: {name: cloud1-lambda, runtime: python3.11}\n"
FUNCTION = "functions:\n  - {name: a, entry: src/a.py, triggers: [{type: http, path: /}]}\n"
CALLERS = Bindable(is_own=False, prefixes=("",), secrets=SecretUse.HIDDEN)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Workplace]:
    made = Workplace(tmp_path / "shop", {"DB_PASSWORD": "canary-1", "COLOR": "red"})
    made.write(
        {"src/a.py": "def handler(e, c):\n    return 1\n", ".env": "API_TOKEN=canary-2\nSIZE=big\n"}
    )
    yield made
    kept = [path for path in tmp_path.rglob("*") if path.is_file() and path.name != ".env"]
    assert not any(b"canary" in path.read_bytes() for path in kept)


def callers(place: Workplace, bindable: Bindable = CALLERS) -> Settings:
    return replace(place.settings, bindable=bindable)


def asked(text: str, stage: str = "") -> Request:
    return Request(Verb.DEPLOY, "plan", Where(stage=stage).with_text(text.encode()))


def problems_of(text: str, settings: Settings) -> tuple[Problem, ...]:
    with pytest.raises(FabricError) as caught:
        plan(asked(text), PlanOptions(), settings)
    assert "canary" not in str(caught.value)
    return caught.value.problems


def resolved(text: str, settings: Settings) -> str:
    report = show_config(Where().with_text(text.encode()), settings)
    assert isinstance(report.outcome, ConfigOutcome)
    return str(report.outcome.config)


def test_request_config_uses_entries_and_variables_of_the_folder(place: Workplace) -> None:
    text = f"{HEAD}env: {{SIZE: '${{env:SIZE}}'}}\n{FUNCTION}"
    report = plan(asked(text), PlanOptions(), callers(place))
    assert isinstance(report.outcome, PlanOutcome)
    assert report.outcome.summary.create == 1
    assert sorted(path.name for path in place.root.iterdir()) == [".env", "src"]


def test_request_config_overrides_the_config_file_in_the_folder(place: Workplace) -> None:
    place.write({"fabric.yml": "nonsense: 1\n"})
    assert "shop" in resolved(HEAD + FUNCTION, callers(place))


def test_places_say_that_it_was_the_request(place: Workplace) -> None:
    (first,) = problems_of(f"{HEAD}{FUNCTION}nonsense: 1\n", callers(place))
    assert str(first.where) == "request body:5:1"


def test_service_of_a_compose_file_receives_upstream_outputs(place: Workplace) -> None:
    top = Workplace(place.root.parent)
    top.write(
        {
            "fabric.compose.yml": "services:\n  - {name: db, config: db}\n"
            "  - {name: shop, config: shop, dependsOn: [db]}\n",
            "db/fabric.yml": HEAD.replace("shop", "db") + FUNCTION,
            "db/src/a.py": "def handler(e, c):\n    return 1\n",
            "shop/fabric.yml": HEAD + FUNCTION,
        }
    )
    text = f"{HEAD}env: {{DB: '${{env:SERVICE_DB_URL}}'}}\n{FUNCTION}"
    work = compile_or_load(asked(text), callers(place))
    assert [one.name for one in work.units[0].config.functions] == ["a"]
    assert dict(work.units[0].needs.outputs)


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ("env: {A: '${env:API_TOKEN}'}", "config/unset-variable"),
        ("env: {A: '${env:DB_PASSWORD}'}", "config/unset-variable"),
        ("env: {A: '${secret:DB_PASSWORD}'}", "config/unset-secret"),
        ("env: {A: '${file:.env}'}", "config/not-trusted"),
        ("resources: [{name: db, type: database, connectionEnv: DB_PASSWORD}]",
         "config/unset-variable"),
        ("addons: {mail: {secrets: {MAIL: 'secret://API_TOKEN'}}}", "config/unset-variable"),
    ],
)  # fmt: skip
def test_variables_withheld_from_callers_are_reported_but_not_shown(
    place: Workplace, said: str, code: str
) -> None:
    (first,) = problems_of(f"{HEAD}{said}\n{FUNCTION}", callers(place))
    assert first.code == code
    assert "requests" in first.message
    assert first.where is not None
    assert first.where.line == 3


def test_default_applies_if_a_variable_is_withheld_from_callers(place: Workplace) -> None:
    said = "env: {A: '${env:API_TOKEN,none}', B: '${env:COLOR}'}"
    shown = resolved(f"{HEAD}{said}\n{FUNCTION}", callers(place))
    assert "'A': 'none'" in shown
    assert "'B': 'red'" in shown


def test_unused_secrets_are_redacted_and_rejected_without_permission(
    place: Workplace,
) -> None:
    text = f"{HEAD}env: {{A: '${{secret:COLOR}}'}}\n{FUNCTION}"
    assert "red" not in resolved(text, callers(place))
    refusing = callers(place, replace(CALLERS, secrets=SecretUse.REFUSED))
    (first,) = problems_of(text, refusing)
    assert "without an API key" in first.message


@pytest.mark.parametrize(
    "said",
    [
        "build: {command: [make]}",
        "build: {tsconfig: ../tsconfig.json}",
        "backend: {kind: sql, sqlConnectionStringEnv: SIZE}",
        "backend: {kind: sql}",
        "backend: {kind: objstore1, objstore1Bucket: theirs}",
        "backend: {kind: objstore2, objstore2Bucket: theirs}",
        "backend: {kind: objstore3, objstore3Container: theirs}",
        "deploy: {healthCheck: {enabled: true, url: 'http://169.254.169.254/'}}",
        "deploy: {healthCheck: {enabled: true, url: '//elsewhere.test/'}}",
        "fabric: {healthCheck: {enabled: true, url: 'elsewhere.test'}}",
        "extensions: {router: {hostname: api.shop.test, autoApply: true}}",
    ],
)
def test_a_callers_config_may_not_use_the_server(place: Workplace, said: str) -> None:
    (first, *_) = problems_of(f"{HEAD}{said}\n{FUNCTION}", callers(place))
    assert first.code == "config/not-trusted"
    assert first.where is not None
    assert first.where.line == 3
    own = f"{HEAD}{said}\n{FUNCTION}"
    validate(Where().with_text(own.encode()), place.settings)


@pytest.mark.parametrize(
    "include",
    [
        "../x",
        "/etc/passwd",
        "a/../../x",
        "out/**",
        "out/x.txt",
        ".env",
        "./.fabric/**",
        ".git/config",
        "x/../.env.prod",
        "src/.npmrc",
        ".aws/**",
        "src/.ssh/id_rsa",
    ],
)
def test_paths_in_a_caller_config_cannot_leave_the_folder_even_through_links(
    place: Workplace, include: str
) -> None:
    (place.root / "out").symlink_to("/etc")
    function = FUNCTION.replace("entry", f"include: ['{include}'], entry")
    (first, *_) = problems_of(HEAD + function, callers(place))
    assert first.code == "config/not-trusted"


@pytest.mark.parametrize(
    ("function", "lines"),
    [
        ("{name: a, entry: out/a.py}", [5]),
        ("{name: a, entry: src/a.py, include: [src/**,\n    'out/*',\n    out/x]}", [6, 7]),
        ("{name: a, entry: src/a.js,\n    build: {tsconfig: out/tsconfig.json}}", [6]),
        ("{name: '${stage}', entry: out/a.py}", [0]),
    ],
)
def test_link_out_of_the_folder_is_reported_with_its_line(
    place: Workplace, function: str, lines: list[int]
) -> None:
    (place.root / "out").symlink_to("/etc")
    runtime = HEAD.replace("python3.11", "nodejs20.x") if "tsconfig" in function else HEAD
    found = problems_of(f"# a request\n{runtime}functions:\n  - {function}\n", callers(place))
    assert [one.where and one.where.line for one in found] == lines
    assert {one.where and one.where.file for one in found} == {"request body"}
    assert all(("out" in one.frame) == bool(line) for one, line in zip(found, lines, strict=True))


def test_build_level_link_out_of_the_folder_is_reported_with_its_line(place: Workplace) -> None:
    (place.root / "out").symlink_to("/etc")
    head = HEAD.replace("python3.11", "nodejs20.x") + "build: {tsconfig: out/tsconfig.json}\n"
    (found,) = problems_of(head + FUNCTION.replace("a.py", "a.js"), callers(place))
    assert str(found.where) == "request body:3:19"


def test_validate_and_resolve_read_no_other_files(place: Workplace) -> None:
    (place.root / "src" / "a.py").unlink()
    (place.root.parent / "fabric.compose.yml").write_text("[[[")
    validate(Where().with_text((HEAD + FUNCTION).encode()), callers(place))
    assert "shop" in resolved(HEAD + FUNCTION, callers(place))


def test_cached_graphs_are_separate_per_text_and_permissions(place: Workplace) -> None:
    (place.root / ".fabric" / "cache").mkdir(parents=True)
    text = f"{HEAD}env: {{A: '${{env:API_TOKEN,none}}'}}\n{FUNCTION}"
    first = compile_or_load(asked(text), callers(place))
    again = compile_or_load(asked(text), callers(place))
    assert first.units
    assert not again.units  # no config was read
    assert compile_or_load(asked(text + "\n# other"), callers(place)).units
    assert compile_or_load(asked(text), place.settings).units


def test_configs_of_upstreams_are_the_projects_own(place: Workplace) -> None:
    top = Workplace(place.root.parent, {"DB_PASSWORD": "canary-1"})
    top.write(
        {
            "fabric.compose.yml": "services:\n  - {name: db, config: db}\n"
            "  - {name: shop, config: shop, dependsOn: [db]}\n",
            "db/fabric.yml": HEAD.replace("shop", "db")
            + "env: {P: '${env:DB_PASSWORD}'}\n"
            + FUNCTION,
            "db/src/a.py": "def handler(e, c):\n    return 1\n",
            "shop/fabric.yml": HEAD + FUNCTION,
        }
    )
    place.env = top.env
    report = plan(asked(HEAD + FUNCTION), PlanOptions(), callers(place))
    assert report.outcome is not None
    (first,) = problems_of(f"{HEAD}env: {{P: '${{env:DB_PASSWORD}}'}}\n{FUNCTION}", callers(place))
    assert first.code == "config/unset-variable"


@pytest.mark.parametrize("path", ["src/\\0a.py", "src/\\x07a.py"])
def test_a_path_of_odd_letters_is_refused(place: Workplace, path: str) -> None:
    function = FUNCTION.replace("src/a.py", f'"{path}"')
    (first, *_) = problems_of(HEAD + function, callers(place))
    assert first.code == "config/not-trusted"


def test_number_of_cached_caller_graphs_is_limited(place: Workplace) -> None:
    folder = place.root / ".fabric" / "cache" / "answers"
    folder.mkdir(parents=True)
    for number in range(300):
        (folder / f"{number:016x}.bin.graph").write_text("x")
    compile_or_load(asked(HEAD + FUNCTION), callers(place))
    assert len(list(folder.glob("*.graph"))) == 256


@pytest.mark.parametrize("include", ["**", "src/**", "src/keys.*", "src/keys.txt", "./src"])
def test_no_path_of_a_callers_config_matches_the_key_file_of_the_server(
    place: Workplace, include: str
) -> None:
    place.write({"src/keys.txt": "secret", "lib/x.txt": "x"})
    hiding = replace(CALLERS, hidden=(str(place.root / "src/keys.txt"),))
    function = FUNCTION.replace("entry", f"include: ['{include}'], entry")
    (first, *_) = problems_of(HEAD + function, callers(place, hiding))
    assert first.code == "config/not-trusted"
    assert "file of the server" in first.message
    other = FUNCTION.replace("entry", "include: ['lib/**'], entry")
    plan(asked(HEAD + other), PlanOptions(), callers(place, hiding))
