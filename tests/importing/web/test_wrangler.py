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


def test_variables_that_are_not_texts_keep_their_type() -> None:
    done = wrangler('[vars]\nLEVEL = "info"\nNUMBER = 5\nLIST = [1]\nAPI_TOKEN = "hunter2"\n')
    assert done.config["env"] == {"LEVEL": "info", "API_TOKEN": "${env:API_TOKEN}"}
    assert settings(done) == {"bindings": {"vars": {"NUMBER": 5, "LIST": [1]}}}
    assert done.reasons() == []


def test_bindings_keep_their_names() -> None:
    done = wrangler(
        """\
[[kv_namespaces]]
binding = "CACHE"
id = "f0"
preview_id = "f1"
[[kv_namespaces]]
binding = "OTHER"
[[d1_databases]]
binding = "DB"
database_name = "shop"
database_id = "d0"
[[services]]
binding = "AUTH"
service = "auth"
[[ratelimits]]
name = "LIMIT"
namespace_id = "1001"
simple = {limit = 100, period = 60}
[[analytics_engine_datasets]]
binding = "EVENTS"
[ai]
binding = "AI"
[version_metadata]
binding = "VERSION"
[[unsafe.bindings]]
name = "X"
type = "new"
"""
    )
    assert settings(done)["bindings"] == {
        "kv_namespaces": [{"binding": "CACHE", "id": "f0"}, {"binding": "OTHER", "create": True}],
        "d1_databases": [{"binding": "DB", "database_name": "shop", "database_id": "d0"}],
        "services": [{"binding": "AUTH", "service": "auth"}],
        "ratelimits": [
            {"name": "LIMIT", "namespace_id": "1001", "simple": {"limit": 100, "period": 60}}
        ],
        "analytics_engine_datasets": [{"binding": "EVENTS"}],
        "ai": {"binding": "AI"},
        "version_metadata": {"binding": "VERSION"},
        "unsafe": {"bindings": [{"name": "X", "type": "new"}]},
    }
    assert done.reasons() == []


def test_settings_of_the_runtime_are_those_of_the_service() -> None:
    done = wrangler(
        'compatibility_flags = ["nodejs_compat", "x"]\n'
        '[placement]\nmode = "smart"\n[limits]\ncpu_ms = 5\n'
    )
    assert settings(done) == {
        "compatibilityFlags": ["x"],
        "placement": {"mode": "smart"},
        "limits": {"cpu_ms": 5},
    }
    assert done.reasons() == []


def test_a_consumer_is_a_queue_trigger_with_settings() -> None:
    done = wrangler(
        """\
[[queues.producers]]
binding = "JOBS"
queue = "jobs"
[[queues.consumers]]
queue = "jobs"
max_batch_size = 5
max_batch_timeout = 2
max_retries = 4
dead_letter_queue = "dead"
"""
    )
    assert done.function["triggers"][-1] == {
        "type": "queue",
        "queue": "jobs",
        "batchSize": 5,
        "maximumBatchingWindowSeconds": 2,
    }
    assert settings(done)["bindings"]["queues"] == {
        "producers": [{"binding": "JOBS", "queue": "jobs"}],
        "consumers": [{"queue": "jobs", "max_retries": 4, "dead_letter_queue": "dead"}],
    }
    assert done.reasons() == []


def test_static_files_belong_to_the_function() -> None:
    done = wrangler('[assets]\ndirectory = "./public"\nbinding = "FILES"\n')
    assert settings(done)["assets"] == {
        "directory": "./public",
        "binding": "FILES",
        "function": "app",
    }
    assert done.reasons() == []


def test_classes_of_objects_are_those_of_the_function() -> None:
    done = wrangler(
        """\
[[durable_objects.bindings]]
name = "ROOMS"
class_name = "Room"
[[migrations]]
tag = "v1"
new_sqlite_classes = ["Room"]
"""
    )
    assert settings(done)["bindings"] == {
        "durable_objects": {
            "function": "app",
            "bindings": [{"name": "ROOMS", "class_name": "Room"}],
        },
        "migrations": [{"tag": "v1", "new_sqlite_classes": ["Room"]}],
    }
    assert done.reasons() == []
    assert any("with new objects" in one for one in done.reasons(Fate.CHANGED))


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
    assert prod["extensions"]["edge1-workers"] == {
        "hostname": "shop.example.com",
        "bindings": {"kv_namespaces": [{"binding": "CACHE", "id": "abc"}]},
    }
    assert prod["functions"]["app"]["triggers"][0]["schedule"] == "0 0 * * *"
    assert done.reasons() == []
    assert any("`LEVEL` is inherited" in one for one in done.reasons(Fate.CHANGED))


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('[media]\nbinding = "X"\n', "`X` (media)"),
        ('[[services]]\nbinding = "X"\nprops = {a = 1}\n', "`props` of a binding"),
        ('[[queues.consumers]]\nqueue = "x"\ntype = "http_pull"\n', "type `http_pull`"),
        ('[[queues.consumers]]\nqueue = "x"\nvisibility_timeout_ms = 1\n', "of a consumer"),
        ('[[d1_databases]]\nbinding = "X"\nmigrations_dir = "m"\n', "applies no migrations"),
        ('[site]\nbucket = "x"\n', "old static files"),
        ('[[tail_consumers]]\nservice = "x"\n', "tail consumers"),
        ('[placement]\nregion = "x"\n', "placement: unknown key"),
        ("something_new = 1\n", "unknown key"),
        ('alias = {a = "b"}\n', "replaced packages"),
        ('define = {API_TOKEN = "a1b2"}\n', "a credential in a bundle is public"),
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


def test_credentials_within_variables_that_are_maps_are_replaced() -> None:
    done = wrangler(
        '[vars.OBJ]\ntoken = "Hunter2"\nname = "shop"\n'
        '[env.prod.vars.OBJ]\ntoken = "Hunter3"\nname = "shop"\n'
    )
    assert settings(done)["bindings"]["vars"] == {"OBJ": {"token": "${env:TOKEN}", "name": "shop"}}
    assert "Hunter" not in repr(done.config)


def stage_schedules(rest: str) -> list[object] | None:
    done = wrangler(f'[triggers]\ncrons = ["0 0 * * *"]\n{rest}')
    stage = done.config.get("stages", {}).get("prod", {})
    if "functions" not in stage:
        return None
    return [one["schedule"] for one in stage["functions"]["app"]["triggers"] if "schedule" in one]


def test_an_environment_inherits_schedules_until_it_sets_them() -> None:
    assert stage_schedules('[env.prod.vars]\nA = "a"\n') is None
    assert stage_schedules("[env.prod.triggers]\ncrons = []\n") == []
    assert stage_schedules('[env.prod.triggers]\ncrons = ["1 1 * * *"]\n') == ["1 1 * * *"]


def test_an_environment_inherits_no_consumers_of_queues() -> None:
    queues = '[[queues.consumers]]\nqueue = "orders"\n'
    assert stage_schedules(f'{queues}[env.prod.vars]\nA = "a"\n') == ["0 0 * * *"]


def test_a_stage_inherits_no_bindings() -> None:
    done = wrangler(
        '[[kv_namespaces]]\nbinding = "KV"\nid = "a"\n[[r2_buckets]]\nbinding = "B"\n'
        'bucket_name = "b"\n[[env.prod.r2_buckets]]\nbinding = "B"\nbucket_name = "c"\n'
        '[[queues.producers]]\nbinding = "Q"\nqueue = "q"\n'
    )
    stage = done.config["stages"]["prod"]["extensions"]["edge1-workers"]["bindings"]
    assert stage == {
        "kv_namespaces": [],
        "r2_buckets": [{"binding": "B", "bucket_name": "c"}],
        "queues": {"producers": []},
    }
    assert done.reasons() == []


def test_bindings_that_a_stage_would_inherit_are_reported() -> None:
    done = wrangler('[ai]\nbinding = "AI"\n[env.prod.vars]\nA = "a"\n')
    assert done.reasons() == [
        "env.prod.ai: the stage inherits the bindings `ai`; Wrangler inherits none"
    ]
