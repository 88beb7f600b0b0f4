"""Configs of Wrangler to Workers of fabric."""

from typing import Any

import pytest

from fabric.importing.source import Fate
from tests.support.imports import Conversion, convert_text

CODE = {"src/index.ts": "", "src/index.py": ""}
HEAD = 'name = "shop"\nmain = "src/index.ts"\n'


def wrangler(rest: str = "", files: dict[str, str] | None = None) -> Conversion:
    return convert_text("wrangler", HEAD + rest, files or CODE)


def settings(done: Conversion) -> Any:
    return done.config["extensions"]["edge1-workers"]


def test_a_worker_receives_all_requests_of_its_service() -> None:
    done = wrangler('compatibility_date = "2026-01-01"\ncompatibility_flags = ["nodejs_compat"]\n')
    assert done.config["provider"] == {"name": "edge1-workers", "runtime": "nodejs22.x"}
    assert done.function["entry"] == "src/index.ts"
    assert [one["route"] for one in done.function["triggers"]] == ["ANY:/", "ANY:/{proxy+}"]
    assert settings(done) == {"compatibilityDate": "2026-01-01"}
    assert done.reasons() == []


def test_schedules_are_triggers() -> None:
    done = wrangler('[triggers]\ncrons = ["*/5 * * * *", "0 0 * * *"]\n')
    schedules = [one.get("schedule") for one in done.function["triggers"]]
    assert schedules[2:] == ["*/5 * * * *", "0 0 * * *"]


@pytest.mark.parametrize(
    "text",
    [
        'route = "shop.example.com/*"\n',
        'routes = [{pattern = "shop.example.com/*", zone_name = "example.com"}]\n',
        'routes = [{pattern = "shop.example.com", custom_domain = true}]\n',
    ],
)
def test_one_route_of_a_whole_hostname_is_the_hostname(text: str) -> None:
    done = wrangler(text)
    assert settings(done) == {"hostname": "shop.example.com"}
    assert done.reasons() == []


def test_other_routes_are_reported() -> None:
    done = wrangler('routes = ["a.example.com/*", "b.example.com/*", "c.example.com/x/*"]\n')
    assert settings(done) == {"hostname": "a.example.com"}
    assert len(done.reasons()) == 2


def test_variables_that_are_not_texts_become_json() -> None:
    done = wrangler('[vars]\nLEVEL = "info"\nNUMBER = 5\nLIST = [1]\nAPI_TOKEN = "hunter2"\n')
    assert done.config["env"] == {
        "LEVEL": "info",
        "NUMBER": 5,
        "LIST": "[1]",
        "API_TOKEN": "${env:API_TOKEN}",
    }


def test_names_of_local_secrets_are_secrets() -> None:
    done = wrangler("", {**CODE, ".dev.vars": "SIGNING=hunter2\n# X=1\n"})
    assert done.config["env"] == {"SIGNING": "${secret:SIGNING}"}


def test_environments_are_stages() -> None:
    done = wrangler(
        """\
[vars]
LEVEL = "info"
[env.prod]
routes = ["shop.example.com/*"]
[env.prod.vars]
URL = "https://shop"
[env.prod.triggers]
crons = ["0 0 * * *"]
[[env.prod.kv_namespaces]]
binding = "CACHE"
id = "abc"
"""
    )
    prod = done.config["stages"]["prod"]
    assert prod["env"] == {"URL": "https://shop"}
    assert prod["extensions"] == {"edge1-workers": {"hostname": "shop.example.com"}}
    assert prod["functions"]["app"]["triggers"][0]["schedule"] == "0 0 * * *"
    assert done.reasons() == [
        "env.prod.kv_namespaces.0: the binding `CACHE` (kv_namespaces) is not supported"
    ]
    assert any("`LEVEL` is inherited" in one for one in done.reasons(Fate.CHANGED))


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('[[kv_namespaces]]\nbinding = "X"\n', "`X` (kv_namespaces)"),
        ('[[r2_buckets]]\nbinding = "X"\n', "`X` (r2_buckets)"),
        ('[[d1_databases]]\nbinding = "X"\n', "`X` (d1_databases)"),
        ('[[services]]\nbinding = "X"\n', "`X` (services)"),
        ('[[vectorize]]\nbinding = "X"\n', "`X` (vectorize)"),
        ('[[hyperdrive]]\nbinding = "X"\n', "`X` (hyperdrive)"),
        ('[[workflows]]\nbinding = "X"\n', "`X` (workflows)"),
        ('[[send_email]]\nname = "X"\n', "`X` (send_email)"),
        ('[ai]\nbinding = "X"\n', "`X` (ai)"),
        ('[browser]\nbinding = "X"\n', "`X` (browser)"),
        ('[[durable_objects.bindings]]\nname = "X"\n', "`X` (durable_objects)"),
        ('[[queues.producers]]\nbinding = "X"\n', "`X` (queues.producers)"),
        ('[[queues.consumers]]\nqueue = "X"\n', "queue `X`"),
        ('[assets]\ndirectory = "x"\n', "static files"),
        ('[[tail_consumers]]\nservice = "x"\n', "tail consumers"),
        ('[placement]\nmode = "smart"\n', "placement"),
        ("[limits]\ncpu_ms = 5\n", "limits"),
        ("something_new = 1\n", "unknown key"),
        ('compatibility_flags = ["x"]\n', "flag `x`"),
        ('alias = {a = "b"}\n', "replaced packages"),
        ('[[migrations]]\ntag = "v1"\n', "migrations"),
    ],
)
def test_what_fabric_cannot_express_is_reported_by_name(text: str, name: str) -> None:
    assert any(name in one for one in wrangler(text).reasons())


def test_settings_of_the_bundle_are_those_of_the_build() -> None:
    done = wrangler(
        'minify = true\ntsconfig = "tsconfig.b.json"\nupload_source_maps = true\n'
        'define = {A = "1"}\n[build]\ncommand = "npm run gen"\n'
        '[[rules]]\ntype = "Text"\nglobs = ["**/*.sql"]\n'
    )
    assert done.config["build"] == {
        "minify": True,
        "tsconfig": "tsconfig.b.json",
        "sourcemap": True,
        "define": {"A": "1"},
        "before": [{"name": "build", "command": ["sh", "-c", "npm run gen"]}],
        "loader": {".sql": "text"},
    }
    assert done.reasons() == []


def test_a_missing_or_foreign_entry_is_reported() -> None:
    missing = convert_text("wrangler", 'main = "dist/x.js"\n', CODE)
    assert any("no file found for the entry" in one for one in missing.reasons())
    python = convert_text("wrangler", 'main = "src/index.py"\n', CODE)
    assert any("is not JavaScript" in one for one in python.reasons())


def test_json_can_contain_comments_and_final_commas() -> None:
    text = '// a\n{"name": "a-b", /* b */ "main": "src/index.ts", "vars": {"U": "http://x",},}\n'
    done = convert_text("wrangler", text, CODE, "wrangler.jsonc")
    assert done.config["env"] == {"U": "http://x"}


def test_a_hostname_that_environments_inherit_is_reported() -> None:
    text = 'route = "a.example.com/*"\n[env.staging]\n[env.prod]\nroute = "b.example.com/*"\n'
    found = [one for one in wrangler(text).reasons(Fate.CHANGED) if "inherits" in one]
    assert found == [
        "env.staging: the stage inherits `a.example.com`, the hostname of the default environment"
    ]


def test_unknown_keys_of_environments_are_no_credentials() -> None:
    done = wrangler('[env.production]\nunknown_key = "x"\nvars = {A = "b"}\n')
    assert done.reasons() == ["env.production.unknown_key: unknown key"]
    assert not any("credential" in one for one in done.reasons(Fate.CHANGED))


def test_schedules_that_fabric_does_not_have_are_reported() -> None:
    done = wrangler('[triggers]\ncrons = ["0 0 L * *"]\n')
    assert len(done.function["triggers"]) == 2
    assert any("`0 0 L * *` is not supported" in one for one in done.reasons())


def test_credentials_of_environments_are_named_by_their_stage() -> None:
    done = wrangler('[env.staging.vars]\nAPI_TOKEN = "hunter3"\n[vars]\nAPI_TOKEN = "hunter2"\n')
    assert done.config["env"] == {"API_TOKEN": "${env:API_TOKEN}"}
    assert done.config["stages"]["staging"]["env"] == {"API_TOKEN": "${env:STAGING_API_TOKEN}"}


def test_environments_that_cannot_name_a_stage_are_reported() -> None:
    [found] = wrangler('[env."feature/x".vars]\nLEVEL = "info"\n').reasons()
    assert "invalid stage name `feature/x`" in found
