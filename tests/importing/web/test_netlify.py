"""Configs of Netlify and their functions."""

from typing import Any

import pytest

from fabric.importing.source import Fate
from tests.support.imports import Conversion, convert_text

HELLO, CLEAN = "netlify/functions/hello.js", "netlify/functions/clean/index.ts"
CODE = {HELLO: "", CLEAN: ""}


def netlify(text: str = "", files: dict[str, str] | None = None) -> Conversion:
    return convert_text("netlify", text, files or CODE)


def triggers(done: Conversion) -> dict[str, list[Any]]:
    return {
        one["name"]: [trigger.get("route") or trigger["schedule"] for trigger in one["triggers"]]
        for one in done.config["functions"]
    }


def test_files_and_directories_are_functions() -> None:
    done = netlify()
    assert done.config["provider"]["name"] == "host2"
    assert [one["entry"] for one in done.config["functions"]] == [CLEAN, HELLO]
    assert triggers(done) == {"clean": ["ANY:/clean"], "hello": ["ANY:/hello"]}


def test_another_directory_can_be_set() -> None:
    files = {"fn/a.mts": "", "fn/a.d.ts": "", "fn/readme.md": ""}
    assert triggers(netlify('[functions]\ndirectory = "fn/"\n', files)) == {"a": ["ANY:/a"]}
    assert triggers(netlify('[build]\nfunctions = "./fn"\n', files)) == {"a": ["ANY:/a"]}


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ('export const config = { path: "/x/:id" };', ["ANY:/x/{id}"]),
        (
            "export const config: Config = {\n  path: ['/a', '/b/*'],\n};",
            ["ANY:/a", "ANY:/b/{proxy+}"],
        ),
        ('export const config = { schedule: "@daily" };', ["0 0 * * *"]),
        ('export const handler = schedule("5 * * * *", run);', ["5 * * * *"]),
    ],
)
def test_code_can_declare_paths_and_a_schedule(code: str, found: list[str]) -> None:
    assert triggers(netlify("", {HELLO: code})) == {"hello": found}


def test_redirects_with_status_200_to_functions_are_routes() -> None:
    done = netlify(
        '[[redirects]]\nfrom = "/api/*"\nto = "/.netlify/functions/:splat"\nstatus = 200\n'
        '[[redirects]]\nfrom = "/h/:id"\nto = "/.netlify/functions/hello"\nstatus = 200\nforce = true\n'
    )
    assert triggers(done) == {
        "clean": ["ANY:/api/clean"],
        "hello": ["ANY:/api/hello", "ANY:/h/{id}"],
    }
    assert done.reasons() == []


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('[[redirects]]\nfrom = "/*"\nto = "/index.html"\nstatus = 200\n', "redirect of `/*`"),
        ('[[redirects]]\nfrom = "/a"\nto = "/b"\nsigned = "KEY"\n', "signed"),
        ('[[redirects]]\nfrom = "/a"\nto = "/.netlify/functions/hello"\n', "redirect of `/a`"),
        ('[[headers]]\nfor = "/*"\n[headers.values]\nX = "y"\n', "headers of `/*`"),
        ('[[plugins]]\npackage = "p"\n', "plugin `p`"),
        ('[[edge_functions]]\nfunction = "e"\npath = "/e"\n', "edge function `e`"),
        ('[functions."none"]\nschedule = "@daily"\n', "no function matches `none`"),
        ('[functions]\nignored_node_modules = ["a"]\n', "left out of a bundle"),
        ('[context.prod]\ncommand = "x"\n', "one build"),
        ("[unknown]\na = 1\n", "unknown key"),
    ],
)
def test_what_fabric_cannot_express_is_reported(text: str, reason: str) -> None:
    assert any(reason in one for one in netlify(text).reasons())


def test_redirects_to_other_places_are_carried_as_they_are() -> None:
    done = netlify(
        '[[redirects]]\nfrom = "/old/*"\nto = "/new/:splat"\nstatus = 302\nforce = true\n'
        '[[redirects]]\nfrom = "/"\nto = "/de"\n[redirects.conditions]\nCountry = ["at"]\n'
    )
    assert done.config["extensions"] == {
        "host2": {
            "redirects": [
                {"from": "/old/*", "to": "/new/:splat", "status": 302, "force": True},
                {"from": "/", "to": "/de", "conditions": {"Country": ["at"]}},
            ]
        }
    }
    assert done.reasons() == []


def test_settings_of_functions_are_carried() -> None:
    done = netlify(
        '[functions]\nincluded_files = ["data/**", "!x"]\nexternal_node_modules = ["sharp"]\n'
        '[functions."h*"]\nincluded_files = ["own/**"]\nschedule = "@hourly"\n'
    )
    assert done.config["defaults"] == {"include": ["data/**"], "build": {"external": ["sharp"]}}
    hello = done.config["functions"][1]
    assert hello["include"] == ["own/**"]
    assert triggers(done)["hello"] == ["0 * * * *"]


def test_variables_and_contexts_are_carried() -> None:
    done = netlify(
        '[build]\ncommand = "npm run build"\npublish = "dist"\n'
        '[build.environment]\nLEVEL = "info"\n'
        '[context.production.environment]\nLEVEL = "warn"\n'
        '[context.deploy-preview.environment]\nLEVEL = "debug"\n'
    )
    assert done.config["env"] == {"LEVEL": "info"}
    assert done.config["stages"] == {
        "prod": {"env": {"LEVEL": "warn"}},
        "deploy-preview": {"env": {"LEVEL": "debug"}},
    }
    assert done.reasons() == []


def test_other_languages_are_reported_with_their_files() -> None:
    done = netlify("", {**CODE, "netlify/functions/go.go": ""})
    assert done.reasons() == [
        "netlify/functions/go.go: `netlify/functions/go.go` is not a function of Node.js"
    ]


@pytest.mark.parametrize(
    "code",
    [
        "export const config " * 50_000,
        "export const config = {" * 20_000,
        "export const config = { path: [" + "'a'," * 100_000,
        "schedule(" * 100_000,
    ],
    ids=["no value", "no end", "paths", "schedules"],
)
def test_long_code_takes_linear_time(code: str) -> None:
    assert triggers(netlify("", {HELLO: code})) == {"hello": ["ANY:/hello"]}


def test_long_patterns_are_not_routes() -> None:
    text = f'[[redirects]]\nfrom = "/{":a(" * 50_000}"\nto = "/.netlify/functions/hello"\nstatus = 200\n'
    assert len(netlify(text).reasons()) == 1


def test_settings_in_code_with_nested_objects_are_read_whole() -> None:
    code = """export const config: Config = {
      rateLimit: { windowLimit: 5, note: "}" }, // a comment with }
      path: ["/a", "/b/:id"],
      "method": ["GET", 'POST'],
      excludedPath: "/b/x",
      preferStatic: true,
    };"""
    done = netlify("", {HELLO: code})
    assert triggers(done) == {"hello": ["GET:/a", "POST:/a", "GET:/b/{id}", "POST:/b/{id}"]}
    lost = [one.partition("`")[2].partition("`")[0] for one in done.reasons()]
    assert lost == ["excludedPath", "preferStatic", "rateLimit"]


@pytest.mark.parametrize(
    "code",
    [
        'const config = { path: "/x" };\nexport { config };',
        'const settings = { path: "/x" };\nexport { run, settings as config };',
    ],
)
def test_settings_can_be_exported_by_name(code: str) -> None:
    assert triggers(netlify("", {HELLO: code})) == {"hello": ["ANY:/x"]}


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ('export { config } from "./c";', "is not an object that fabric can read"),
        ("export const config = make();", "is not an object that fabric can read"),
        ("export const config = { path };", "`path` in the `config`"),
        ('export const config = { path: "/a(b|c)d" };', "cannot be written as a route"),
        ('export const config = { schedule: "0 0 L * *" };', "`0 0 L * *` is not supported"),
    ],
)
def test_settings_in_code_that_cannot_be_read_are_reported(code: str, reason: str) -> None:
    assert any(reason in one for one in netlify("", {HELLO: code}).reasons())


def test_background_functions_are_reported() -> None:
    [found] = netlify("", {"netlify/functions/send-background.js": ""}).reasons()
    assert "`send-background` is a background function" in found


def test_exclusions_of_files_are_reported() -> None:
    done = netlify('[functions]\nincluded_files = ["data/**", "!data/secret/**"]\n')
    assert done.config["defaults"] == {"include": ["data/**"]}
    [found] = done.reasons()
    assert "`!data/secret/**` has no effect" in found


def test_contexts_that_cannot_name_a_stage_are_reported() -> None:
    done = netlify('[context."feature/x".environment]\nLEVEL = "debug"\n')
    assert "stages" not in done.config
    [found] = done.reasons()
    assert "invalid stage name `feature/x`" in found


def test_credentials_in_headers_are_replaced() -> None:
    text = (
        '[build]\npublish = "public"\n[[headers]]\nfor = "/*"\n[headers.values]\n'
        'Basic-Auth = "user:Hunter2"\nX-Frame-Options = "DENY"\n'
    )
    done = netlify(text)
    [rule] = done.config["extensions"]["host2"]["headers"]
    assert rule["values"] == {"Basic-Auth": "${env:BASIC_AUTH}", "X-Frame-Options": "DENY"}
    assert any("a credential is not copied" in one for one in done.reasons(Fate.CHANGED))


def test_files_their_headers_and_pages_are_carried() -> None:
    done = netlify(
        """\
[[headers]]
for = "/*"
[headers.values]
x-robots-tag = "none"
[[redirects]]
from = "/*"
to = "/index.html"
status = 200
[build]
publish = "dist/"
"""
    )
    section = done.config["extensions"]["host2"]
    assert section["static"] == {"directory": "dist"}
    assert section["headers"] == [{"for": "/*", "values": {"x-robots-tag": "none"}}]
    assert section["redirects"] == [{"from": "/*", "to": "/index.html", "status": 200}]
    assert done.reasons() == []


def test_the_whole_project_is_no_directory_of_files() -> None:
    assert any("the whole project" in one for one in netlify('[build]\npublish = "."\n').reasons())


def test_the_schedule_of_code_takes_precedence() -> None:
    code = 'export const config = { schedule: "@daily" };'
    text = '[functions."hello"]\nschedule = "@hourly"\n'
    done = netlify(text, {"netlify/functions/hello.js": code})
    assert triggers(done) == {"hello": ["0 0 * * *"]}
    assert done.reasons(Fate.DROPPED) == [
        "functions.hello.schedule: the schedule in the code takes precedence"
    ]
