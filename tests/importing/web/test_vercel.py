"""Configs of Vercel and the functions below `api`."""

import json
from typing import Any

import pytest

from fabric.importing.source import Fate
from tests.support.imports import Conversion, convert_text

CODE = {"api/hello.ts": "", "api/users/[id].ts": "", "api/users/index.js": "", "api/_lib.ts": ""}


def vercel(files: dict[str, str] | None = None, **values: object) -> Conversion:
    return convert_text("vercel", json.dumps(values), files or CODE)


def functions(done: Conversion) -> dict[str, Any]:
    return {one["name"]: one for one in done.config["functions"]}


def routes(function: dict[str, Any]) -> list[str]:
    return [one["route"] for one in function["triggers"] if "route" in one]


def test_files_below_api_are_functions() -> None:
    found = functions(vercel())
    assert {name: routes(one) for name, one in found.items()} == {
        "hello": ["ANY:/api/hello"],
        "users-id": ["ANY:/api/users/{id}"],
        "users-index": ["ANY:/api/users"],
    }
    assert found["users-id"]["entry"] == "api/users/[id].ts"


def test_settings_are_those_of_the_first_pattern_that_matches() -> None:
    patterns = {
        "api/**/*.ts": {"memory": 1024, "includeFiles": "{data/**,tpl/**}"},
        "api/users/[id].ts": {"maxDuration": 30},
    }
    done = vercel(functions=patterns)
    found = functions(done)
    assert any("an earlier pattern" in one for one in done.reasons())
    assert found["hello"]["memory"] == 1024
    assert found["hello"]["include"] == ["data/**", "tpl/**"]
    assert found["users-id"]["memory"] == 1024
    assert "timeout" not in found["users-id"]
    assert "memory" not in found["users-index"]


def test_schedules_are_triggers_of_the_function_with_the_path() -> None:
    crons = [{"path": "/api/hello?x=1", "schedule": "0 5 * * *"}]
    found = functions(vercel(crons=crons))
    assert found["hello"]["triggers"][1] == {"type": "cron", "schedule": "0 5 * * *"}


@pytest.mark.parametrize(
    ("source", "route"),
    [
        ("/u/:id", "ANY:/u/{id}"),
        ("/u/:path*", "ANY:/u/{path+}"),
        ("/u/(.*)", "ANY:/u/{proxy+}"),
        ("/u", "ANY:/u"),
        ("/", "ANY:/"),
    ],
)
def test_rewrites_to_functions_are_routes(source: str, route: str) -> None:
    done = vercel(rewrites=[{"source": source, "destination": "/api/hello"}])
    assert routes(functions(done)["hello"]) == ["ANY:/api/hello", route]
    assert done.reasons() == []


def test_routes_of_the_older_form_have_methods() -> None:
    one = {"src": "/u", "dest": "/api/hello.ts", "methods": ["GET"]}
    assert routes(functions(vercel(routes=[one]))["hello"])[1:] == ["GET:/u"]


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        (
            {"rewrites": [{"source": "/(.*)", "destination": "/index.html"}]},
            "`/index.html` is not the path",
        ),
        ({"rewrites": [{"source": "/a", "destination": "/api/hello", "has": []}]}, "`has`"),
        ({"headers": [{"source": "/a"}]}, "headers"),
        ({"redirects": [{"source": "/a"}]}, "destination"),
        ({"redirects": [{"source": "/a(", "destination": "/b"}]}, "invalid source `/a(`"),
        ({"redirects": [{"source": "/a", "destination": "/b", "env": ["A"]}]}, "env"),
        ({"cleanUrls": True}, "no pages"),
        ({"functions": {"api/none.ts": {"memory": 1}}}, "no function below"),
        ({"functions": {"api/hello.ts": {"runtime": "x@1"}}}, "other runtimes"),
        ({"crons": [{"path": "/api/none", "schedule": "0 0 * * *"}]}, "no function below"),
        ({"build": {"env": {"A": "b"}}}, "variables of builds"),
        ({"builds": [{"src": "a"}]}, "builders of version 2"),
        ({"regions": ["fra1", "iad1"]}, "one region"),
        ({"unknown": 1}, "unknown key"),
    ],
)
def test_what_fabric_cannot_express_is_reported(values: dict[str, Any], reason: str) -> None:
    assert any(reason in one for one in vercel(**values).reasons())


def test_the_environment_and_the_first_region_are_carried() -> None:
    done = vercel(regions=["fra1"], env={"A": "b", "KEY": "@stored"}, buildCommand="npm run build")
    assert done.config["provider"]["region"] == "fra1"
    assert done.config["env"] == {"A": "b", "KEY": "${secret:KEY}"}
    assert done.config["build"]["before"][0]["command"] == ["sh", "-c", "npm run build"]


def test_edge_functions_and_other_languages_are_reported_with_their_files() -> None:
    files = {"api/e.ts": "export const config = { runtime: 'edge' };", "api/p.py": "", **CODE}
    done = vercel(files, unknown=1)
    assert [one.partition(": ")[0] for one in done.reasons()] == ["api/e.ts", "api/p.py", "unknown"]
    assert set(functions(done)) == {"hello", "users-id", "users-index"}


def test_the_runtime_is_that_of_the_package() -> None:
    files = {**CODE, "package.json": '{"engines": {"node": ">=24"}}'}
    assert vercel(files).config["provider"]["runtime"] == "nodejs24.x"


def test_keys_of_the_other_tool_are_dropped() -> None:
    assert vercel(version=2, public=True).reasons(Fate.DROPPED) == [
        "version: used only by Vercel",
        "public: used only by Vercel",
    ]


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("/users/:id", "/api/users/:id"),
        ("/users/:user", "/api/users/:user"),
        ("/users/:id", "/api/users/[id]?x=1"),
    ],
)
def test_rewrites_with_parameters_are_routes_with_the_names_of_the_file(
    source: str, target: str
) -> None:
    done = vercel(rewrites=[{"source": source, "destination": target}])
    assert routes(functions(done)["users-id"])[1:] == ["ANY:/users/{id}"]
    assert done.reasons() == []
    assert ("?" in target) == any("query `x=1`" in one for one in done.reasons(Fate.CHANGED))


@pytest.mark.parametrize(
    ("source", "target", "reason"),
    [
        ("/users/:user", "/api/users/[id]", "has other parameters than `api/users/[id].ts`"),
        ("/me", "/api/users/42", "`/api/users/42` is not the path of a function"),
        ("/a(b|c)d", "/api/hello", "cannot be written as a route"),
    ],
)
def test_other_rewrites_are_reported(source: str, target: str, reason: str) -> None:
    [found] = vercel(rewrites=[{"source": source, "destination": target}]).reasons()
    assert reason in found


def test_files_of_unknown_languages_are_reported_and_data_is_not() -> None:
    [found] = vercel({**CODE, "api/a.php": "", "api/data.json": "", "api/a.d.ts": ""}).reasons()
    assert "`api/a.php` is not carried" in found


def test_credentials_that_are_not_carried_are_not_reported_as_changed() -> None:
    done = vercel(build={"env": {"API_TOKEN": "hunter2"}})
    assert done.reasons(Fate.CHANGED) == []
    assert len(done.reasons()) == 1


def test_redirects_headers_and_rewrites_to_other_servers_are_carried_as_they_are() -> None:
    rules: dict[str, Any] = {
        "redirects": [{"source": "/old/:id", "destination": "/new/:id", "permanent": False}],
        "headers": [{"source": "/(.*)", "headers": [{"key": "X-Frame-Options", "value": "DENY"}]}],
        "rewrites": [{"source": "/:path*", "destination": "https://old.test/:path*"}],
    }
    done = vercel(**rules)
    assert done.config["extensions"] == {"host1": rules}
    assert done.reasons() == []


def test_schedules_that_fabric_does_not_have_are_reported() -> None:
    done = vercel(crons=[{"path": "/api/hello", "schedule": "0 0 L * *"}])
    assert len(functions(done)["hello"]["triggers"]) == 1
    assert any("`0 0 L * *` is not supported" in one for one in done.reasons())


def test_files_and_pages_are_carried() -> None:
    done = vercel(
        rewrites=[{"source": "/(.*)", "destination": "/index.html"}], outputDirectory="dist"
    )
    section = done.config["extensions"]["host1"]
    assert section["static"] == {"directory": "dist"}
    assert section["rewrites"] == [{"source": "/(.*)", "destination": "/index.html"}]
    assert done.reasons() == []


def test_credentials_in_headers_are_replaced() -> None:
    rows = [
        {"key": "X-Api-Key", "value": "Hunter2"},
        {"key": "Access-Control-Allow-Credentials", "value": "true"},
    ]
    text = json.dumps({"headers": [{"source": "/(.*)", "headers": rows}]})
    done = convert_text("vercel", text, {"api/index.ts": ""})
    [rule] = done.config["extensions"]["host1"]["headers"]
    assert [one["value"] for one in rule["headers"]] == ["${env:X_API_KEY}", "true"]
