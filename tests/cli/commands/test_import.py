"""`fabric import`: a project of another tool becomes one of fabric."""

from pathlib import Path

import pytest
import yaml

from fabric.config.yaml.reader import read
from tests.support.in_process import project
from tests.support.project import Project

SERVERLESS = """\
service: shop
frameworkVersion: "3"
provider:
  name: aws
  runtime: nodejs22.x
  environment:
    TABLE: ${self:custom.table}
custom:
  table: orders-${sls:stage}
functions:
  # Answers requests.
  api:
    handler: src/api.handler
    events:
      - httpApi: GET /orders  # public
"""
SAM = """\
Transform: AWS::Serverless-2016-10-31
Resources:
  Api:
    Type: AWS::Serverless::Function
    Properties:
      Handler: api.handler
      Runtime: nodejs22.x
      CodeUri: src
      Environment: {Variables: {TABLE: !Ref Table}}
  Table: {Type: AWS::DynamoDB::Table}
"""
CODE = {"src/api.js": "export const handler = async () => ({ statusCode: 200 });\n"}


def imported(folder: Path, text: str = SERVERLESS, name: str = "serverless.yml") -> Project:
    made = project(folder)
    (made.root / "fabric.yml").unlink(missing_ok=True)
    made.write({**CODE, name: text})
    return made


def names(folder: Path) -> set[str]:
    return {str(one.relative_to(folder)) for one in folder.rglob("*") if one.is_file()}


def test_a_service_is_converted_and_can_be_planned(tmp_path: Path) -> None:
    made = imported(tmp_path)
    done = made.fabric("import", "--json")
    assert done.code == 0, done.err
    assert done.result == {
        "source": ".",
        "from": "serverless",
        "written": ["fabric.yml"],
        "replaced": [],
        "services": [{"name": "shop", "functions": 1, "triggers": 1}],
        "carried": 7,
        "changed": done.result["changed"],
        "notCarried": [],
        "dropped": [
            {
                "code": "import/dropped",
                "path": "frameworkVersion",
                "where": "serverless.yml:2:1",
                "reason": "used only by the Serverless Framework",
                "hint": "",
            }
        ],
        "problems": [],
        "dryRun": False,
    }
    assert made.fabric("plan").code == 0
    assert made.fabric("deploy").code == 0


def test_comments_and_order_are_kept(tmp_path: Path) -> None:
    made = imported(tmp_path)
    made.fabric("import")
    text = (made.root / "fabric.yml").read_text()
    assert "  # Answers requests.\n  - name: api\n" in text
    assert "# public" in text


def test_a_template_is_converted_with_its_resources(tmp_path: Path) -> None:
    made = imported(tmp_path, SAM, "template.yaml")
    done = made.fabric("import", "--json")
    assert done.code == 0, done.out
    assert done.result["written"] == ["resources.yml", "fabric.yml"]
    assert "!Ref Table" in (made.root / "resources.yml").read_text()
    assert made.fabric("plan", "--json").code == 0


def test_a_key_that_is_not_carried_has_exit_code_2_and_a_comment(tmp_path: Path) -> None:
    made = imported(tmp_path, f"{SERVERLESS}      - websocket: x\n")
    done = made.fabric("import")
    assert done.code == 2
    assert "serverless.yml:16:9  functions.api.events.1.websocket" in done.out
    assert (
        "#   functions.api.events.1.websocket (serverless.yml:16)"
        in (made.root / "fabric.yml").read_text()
    )
    assert made.fabric("import", "--strict", "--force").code == 1


def test_a_dry_run_writes_nothing(tmp_path: Path) -> None:
    made = imported(tmp_path)
    before = names(made.root)
    done = made.fabric("import", "--dry-run")
    assert done.code == 0, done.out
    assert done.out.startswith("Would import shop: 1 function, 1 trigger\n")
    assert names(made.root) == before


def test_a_dry_run_checks_the_result_and_reports_existing_files(tmp_path: Path) -> None:
    made = imported(tmp_path, SERVERLESS.replace("${self:custom.table}", "${env:UNSET_TABLE}"))
    (made.root / "fabric.yml").write_text("mine")
    done = made.fabric("import", "--dry-run", "--json")
    assert done.code == 2
    assert [one["code"] for one in done.result["problems"]] == [
        "config/unset-variable",
        "import/exists",
    ]
    assert done.result["replaced"] == ["fabric.yml"]
    assert (made.root / "fabric.yml").read_text() == "mine"
    forced = made.fabric("import", "--dry-run", "--force", "--json")
    assert [one["code"] for one in forced.result["problems"]] == ["config/unset-variable"]


def test_a_dry_run_finds_the_code_of_the_project(tmp_path: Path) -> None:
    made = imported(tmp_path, SERVERLESS.replace("src/api.handler", "src/none.handler"))
    problems = made.json("import", "--dry-run").result["problems"]
    assert [one["code"] for one in problems] == ["build/missing-entry"]
    assert "fabric-import-" not in str(problems)


def test_existing_files_are_replaced_only_with_force(tmp_path: Path) -> None:
    made = imported(tmp_path)
    (made.root / "fabric.yml").write_text("mine")
    done = made.fabric("import", "--json")
    assert (done.code, done.error["code"]) == (1, "import/exists")
    assert (made.root / "fabric.yml").read_text() == "mine"
    assert made.fabric("import", "--force").code == 0
    again = (made.root / "fabric.yml").read_bytes()
    assert made.fabric("import", "--force").code == 0
    assert (made.root / "fabric.yml").read_bytes() == again


def test_the_result_can_be_written_above_the_code(tmp_path: Path) -> None:
    made = imported(tmp_path)
    (made.root / "serverless.yml").rename(made.root / "src" / "serverless.yml")
    (made.root / "src" / "src").mkdir()
    (made.root / "src" / "api.js").rename(made.root / "src" / "src" / "api.js")
    done = made.fabric("import", "src", "--out", ".")
    assert done.code == 0, done.out + done.err
    assert "entry: src/src/api.handler" in (made.root / "fabric.yml").read_text()
    assert made.fabric("plan").code == 0


def test_the_result_cannot_be_written_where_the_code_is_not(tmp_path: Path) -> None:
    done = imported(tmp_path).fabric("import", "--out", "out", "--json")
    assert (done.code, done.error["code"]) == (64, "usage/bad-directory")


def test_code_above_the_source_needs_another_directory(tmp_path: Path) -> None:
    made = imported(tmp_path)
    made.write({"infra/template.yaml": SAM.replace("CodeUri: src", "CodeUri: ../src")})
    (made.root / "serverless.yml").unlink()
    (made.root / ".git").mkdir()
    assert "is not below the directory of fabric.yml" in made.fabric("import", "infra").out
    done = made.fabric("import", "infra", "--out", ".")
    assert done.code == 0, done.out
    assert "entry: src/api.handler" in (made.root / "fabric.yml").read_text()


def test_the_services_of_a_monorepo_get_a_compose_file(tmp_path: Path) -> None:
    made = imported(tmp_path)
    (made.root / "serverless.yml").unlink()
    mail = SERVERLESS.replace("service: shop", "service: mail")
    made.write(
        {
            "services/one/serverless.yml": SERVERLESS,
            "services/two/serverless.yml": mail,
            "services/one/src/api.js": "",
            "services/two/src/api.js": "",
            "serverless-compose.yml": "services:\n  one: {path: services/one, dependsOn: two}\n"
            "  two: {path: services/two}\n",
        }
    )
    done = made.json("import")
    assert done.code == 0, done.out + done.err
    compose = yaml.safe_load((made.root / "fabric.compose.yml").read_text())
    assert compose == {
        "services": {
            "shop": {"config": "services/one/fabric.yml", "dependsOn": ["mail"]},
            "mail": {"config": "services/two/fabric.yml"},
        }
    }


def test_several_configs_in_one_directory_are_ambiguous(tmp_path: Path) -> None:
    made = imported(tmp_path)
    (made.root / "template.yaml").write_text(SAM)
    done = made.fabric("import", "--json")
    assert (done.code, done.error["code"]) == (64, "usage/ambiguous")
    assert made.fabric("import", "--from", "sam", "--dry-run").code == 0
    assert made.fabric("import", "serverless.yml", "--dry-run").code == 0


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("- a\n", "import/unreadable"),
        ("a: [\n", "config/syntax"),
        ("a: &a [*a]\n", "config/alias"),
        ("service: x\nprovider: {name: tencent}\n", "import/unreadable"),
    ],
)
def test_a_source_that_cannot_be_read_is_an_error(text: str, code: str, tmp_path: Path) -> None:
    made = imported(tmp_path, text)
    done = made.fabric("import", "--json")
    assert (done.code, done.error["code"]) == (65, code)
    assert not (made.root / "fabric.yml").exists()


def test_a_file_that_is_too_large_is_an_error(tmp_path: Path) -> None:
    made = imported(tmp_path, f"service: {'a' * 5_000_000}\n")
    done = made.json("import")
    assert (done.code, done.error["code"]) == (65, "import/unreadable")


def test_files_outside_of_the_project_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "secret.yml").write_text("key: hunter2\n")
    text = SERVERLESS.replace("${self:custom.table}", "${file(../secret.yml):key}")
    text = text.replace("  TABLE", "  LINK: ${file(link.yml):key}\n    TABLE")
    made = imported(tmp_path, text)
    (made.root / "link.yml").symlink_to(tmp_path / "secret.yml")
    assert made.json("import").code == 2
    assert "hunter2" not in (made.root / "fabric.yml").read_text()


def test_an_empty_directory_has_nothing_to_import(tmp_path: Path) -> None:
    made = imported(tmp_path)
    (made.root / "serverless.yml").unlink()
    done = made.fabric("import", "--json")
    assert (done.code, done.error["code"]) == (65, "input/not-found")


def test_problems_of_the_result_are_part_of_the_report(tmp_path: Path) -> None:
    made = imported(tmp_path, SERVERLESS.replace("${self:custom.table}", "${env:UNSET_TABLE}"))
    done = made.fabric("import", "--json")
    assert done.code == 2
    assert [one["code"] for one in done.result["problems"]] == ["config/unset-variable"]
    assert (made.root / ".env.example").read_text().endswith("UNSET_TABLE=\n")
    assert read("x", (made.root / "fabric.yml").read_bytes())


def test_a_credential_is_in_no_output(tmp_path: Path) -> None:
    text = SERVERLESS.replace("TABLE: ${self:custom.table}", "DB_PASSWORD: hunter2")
    made = imported(tmp_path, text)
    done = made.fabric("import", "--json")
    assert "hunter2" not in done.out + done.err
    [change] = [one for one in done.result["changed"] if "DB_PASSWORD" in one["path"]]
    assert (change["from"], change["to"]) == ("[REDACTED]", "${env:DB_PASSWORD}")


def test_a_source_that_is_not_utf_8_is_refused(tmp_path: Path) -> None:
    made = imported(tmp_path)
    (made.root / "serverless.yml").write_bytes(b"service: caf\xe9\n")
    done = made.json("import")
    assert (done.code, done.error["code"]) == (65, "import/unreadable")


def test_places_are_relative_to_the_working_directory(tmp_path: Path) -> None:
    made = imported(tmp_path, SERVERLESS.replace("${self:custom.table}", "${env:X}"), "a/x.yml")
    done = made.json("import", "a/x.yml", "--from", "serverless")
    assert done.result["changed"][0]["where"] == "a/x.yml:3:1"
    assert done.result["problems"][0]["where"].startswith("a/fabric.yml:")
    again = made.json("import", "a/x.yml", "--from", "serverless")
    made.write({"a/fabric.yml": "mine"})
    again = made.json("import", "a/x.yml", "--from", "serverless")
    assert again.error["where"]["file"] == "a/fabric.yml"


def test_the_last_of_equal_keys_of_a_template_counts_and_is_reported(tmp_path: Path) -> None:
    made = imported(tmp_path, SAM + "  Table: {Type: AWS::SQS::Queue}\n", "template.yaml")
    done = made.json("import")
    assert done.code == 0, done.out
    assert "AWS::SQS::Queue" in (made.root / "resources.yml").read_text()
    [note] = [one for one in done.result["changed"] if "duplicate" in one["reason"]]
    assert (note["path"], note["where"]) == ("Resources.Table", "template.yaml:11:3")


def test_equal_keys_of_a_service_are_an_error(tmp_path: Path) -> None:
    done = imported(tmp_path, SERVERLESS + "service: two\n").json("import")
    assert (done.code, done.error["code"]) == (65, "config/duplicate-key")
    assert "lines 1 and" in done.error["message"]


def write_composition(made: Project, params: str, rest: str = "") -> None:
    (made.root / "serverless.yml").unlink()
    outputs = "Outputs: {Name: {Value: !Ref T}}"
    resources = f"resources: {{Resources: {{T: {{Type: 'AWS::DynamoDB::Table'}}}}, {outputs}}}\n"
    made.write(
        {
            "data/serverless.yml": SERVERLESS.replace("service: shop", "service: data") + resources,
            "web/serverless.yml": SERVERLESS.replace("${self:custom.table}", "${param:table}"),
            "data/src/api.js": CODE["src/api.js"],
            "web/src/api.js": CODE["src/api.js"],
            "serverless-compose.yml": "services:\n  db: {path: data}\n"
            f"  web:\n    path: web\n    params:\n      {params}\n{rest}",
        }
    )


def test_parameters_of_the_compose_file_are_carried(tmp_path: Path) -> None:
    made = imported(tmp_path)
    write_composition(made, "table: t-${db.Name}-${sls:stage}\n      url: ${db.HttpApiUrl}")
    done = made.json("import")
    assert done.code == 0, done.out
    config = yaml.safe_load((made.root / "web/fabric.yml").read_text())
    assert config["params"] == {
        "table": "t-${service:data.stack.Name}-${stage}",
        "url": "${service:data.url}",
    }
    compose = yaml.safe_load((made.root / "fabric.compose.yml").read_text())
    assert compose["services"]["shop"]["dependsOn"] == ["data"]


def test_parameters_that_cannot_be_carried_are_reported(tmp_path: Path) -> None:
    made = imported(tmp_path)
    write_composition(made, "table: ${db.Missing}", "state: s3\n")
    notes = {one["path"]: one for one in made.json("import").result["notCarried"]}
    assert notes["services.web.params.table"]["where"] == "serverless-compose.yml:6:7"
    assert notes["state"]["where"] == "serverless-compose.yml:7:1"


@pytest.mark.parametrize("value", ["x: ${nowhere.Name}", "x: y\n    dependsOn: nowhere"])
def test_an_unknown_service_of_the_compose_file_is_an_error(value: str, tmp_path: Path) -> None:
    made = imported(tmp_path)
    write_composition(made, value)
    done = made.json("import")
    assert (done.code, done.error["code"]) == (65, "import/unreadable")
    assert done.error["where"]["line"] in (6, 7)
    assert "`nowhere`" in done.error["message"]


@pytest.mark.parametrize(
    "services", ["[a]", "{a: {path: a, params: [x]}}", "{a: {path: a, dependsOn: 3}}"]
)
def test_an_odd_compose_file_is_refused(services: str, tmp_path: Path) -> None:
    made = imported(tmp_path, name="a/serverless.yml")
    made.write({"serverless-compose.yml": f"services: {services}\n"})
    done = made.json("import")
    assert (done.code, done.error["code"]) == (65, "import/unreadable")


def test_projects_of_other_platforms_can_be_planned(tmp_path: Path) -> None:
    made = imported(tmp_path)
    (made.root / "serverless.yml").unlink()
    worker = "export default { fetch: () => new Response('') };\n"
    page = "export default function (req, res) { res.end(''); }\n"
    made.write(
        {
            "worker/wrangler.toml": 'name = "shop"\nmain = "index.js"\n',
            "worker/index.js": worker,
            "vercel/vercel.json": "{}",
            "vercel/api/users/[id].js": page,
            "netlify/netlify.toml": "[build]\n",
            "netlify/netlify/functions/hello.js": CODE["src/api.js"],
        }
    )
    done = made.json("import")
    assert done.code == 0, done.out
    assert done.result["from"] == "netlify, vercel, wrangler"
    assert made.fabric("compose", "plan").code == 0


def test_a_service_of_resources_only_becomes_a_stack(tmp_path: Path) -> None:
    source = (
        "service: net\nprovider: {name: aws, runtime: nodejs22.x}\n"
        "resources:\n  Resources:\n    Orders: {Type: AWS::SQS::Queue}\n"
    )
    made = imported(tmp_path, source, "serverless.yml")
    done = made.json("import")
    assert done.code == 0, done.out
    assert done.result["notCarried"] == []
    plan = made.json("plan").result
    assert [one["resources"][0]["id"] for one in plan["stacks"]] == ["Orders"]


@pytest.mark.parametrize("words", [("--dry-run",), ()])
def test_nothing_is_written_through_links_of_a_project(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    made = imported(tmp_path / "project")
    other = tmp_path / "other"
    other.mkdir()
    (made.root / "fabric.yml").symlink_to(other / "fabric.yml")
    done = made.json("import", "--force", *words)
    assert done.error["code"] == "import/linked"
    assert list(other.iterdir()) == []


def test_services_whose_configs_are_not_imported_are_reported(tmp_path: Path) -> None:
    made = imported(tmp_path)
    rows = "api: {path: api}\n  gone: {path: gone}\n  odd: {path: odd, config: o.yml}\n"
    made.write({"serverless-compose.yml": f"services:\n  {rows}", "api/serverless.yml": SERVERLESS})
    made.write({f"api/{name}": content for name, content in CODE.items()})
    (made.root / "serverless.yml").unlink()
    done = made.json("import")
    assert done.code == 2
    lost = {one["path"] for one in done.result["notCarried"]}
    assert {"services.gone", "services.odd", "services.odd.config"} <= lost


def test_a_project_without_functions_is_refused(tmp_path: Path) -> None:
    made = imported(tmp_path, '{"cleanUrls": true}', "vercel.json")
    (made.root / "serverless.yml").unlink(missing_ok=True)
    done = made.json("import")
    assert (done.code, done.error["code"]) == (65, "import/no-functions")
    assert done.error["hint"] == "name another config, or use --from"


def test_a_template_with_only_state_machines_is_a_service_without_functions(tmp_path: Path) -> None:
    template = """\
Transform: AWS::Serverless-2016-10-31
Resources:
  Orders:
    Type: AWS::Serverless::StateMachine
    Properties:
      Definition: {StartAt: A, States: {A: {Type: Succeed}}}
"""
    made = imported(tmp_path, template, "template.yaml")
    (made.root / "serverless.yml").unlink(missing_ok=True)
    done = made.json("import")
    assert done.code == 0, done.out
    text = (made.root / "fabric.yml").read_text()
    assert "functions: []" in text
    assert made.json("plan").code == 0


def test_a_layer_beside_a_service_of_a_monorepo_is_carried(tmp_path: Path) -> None:
    made = imported(tmp_path, name="a/serverless.yml")
    layer = f"{SERVERLESS}layers: {{x: {{path: ../shared}}, y: {{path: ../../far}}}}\n"
    made.write({"a/serverless.yml": layer, "b/serverless.yml": SERVERLESS, "shared/x.txt": "x"})
    made.write({"a/src/api.js": "", "b/src/api.js": ""})
    lost = made.json("import", "--dry-run").result["notCarried"]
    assert [one["path"] for one in lost] == ["layers.y.path"]


@pytest.mark.parametrize("words", [(), ("--from", "sam"), ("template.yaml",)])
def test_a_template_without_functions_is_named(tmp_path: Path, words: tuple[str, ...]) -> None:
    made = imported(tmp_path, "Resources: {Topic: {Type: AWS::SNS::Topic}}\n", "template.yaml")
    done = made.fabric("import", "--json", *words)
    assert (done.code, done.error["code"]) == (65, "import/no-functions")
    assert "`template.yaml`" in done.error["message"]


def test_replaced_files_are_named(tmp_path: Path) -> None:
    made = imported(tmp_path)
    made.write({"fabric.yml": "service: old\n"})
    assert "fabric.yml (exists)" in made.fabric("import", "--dry-run").out
    assert "fabric.yml (replaced)" in made.fabric("import", "--force").out


STAGES = SERVERLESS.replace(
    "  table: orders-${sls:stage}\n",
    "  table: ${self:custom.tables.${sls:stage}}\n  tables: {dev: a, test: b, prod: c}\n",
)


def test_an_import_can_be_limited_to_stages(tmp_path: Path) -> None:
    made = imported(tmp_path, STAGES)
    done = made.fabric("import", "--stage", "prod", "--stage", "demo", "--json")
    assert done.code == 0, done.err
    config = yaml.safe_load((made.root / "fabric.yml").read_text())
    assert config["params"] == {"tables": "a"}
    assert config["stages"] == {"prod": {"params": {"tables": "c"}}}
    assert "stages.test" in [one["path"] for one in done.result["dropped"]]
    assert "stages.demo" in [one["path"] for one in done.result["changed"]]


def test_the_default_stage_can_be_the_only_one(tmp_path: Path) -> None:
    made = imported(tmp_path, STAGES)
    assert made.fabric("import", "--stage", "dev").code == 0
    assert "stages" not in yaml.safe_load((made.root / "fabric.yml").read_text())


def test_a_comparison_has_one_stage(tmp_path: Path) -> None:
    done = imported(tmp_path).fabric(*"import --compare --stage a --stage b --json".split())
    assert (done.code, done.error["code"]) == (64, "usage/conflict")
