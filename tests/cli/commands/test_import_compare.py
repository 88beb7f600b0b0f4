"""`fabric import --compare`: the config against the template of the other tool."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.commands.test_import import CODE, SAM, SERVERLESS, imported
from tests.support.project import Project
from tests.support.wrangler import installed

FUNCTION = {
    "Type": "AWS::Lambda::Function",
    "Properties": {
        "MemorySize": 1024,
        "Timeout": 6,
        "Runtime": "nodejs22.x",
        "Environment": {"Variables": {"TABLE": "orders-dev"}},
    },
}
TEMPLATE: dict[str, Any] = {
    "Resources": {
        "ApiLambdaFunction": FUNCTION,
        "Api": {
            "Type": "AWS::ApiGatewayV2::Integration",
            "Properties": {"IntegrationUri": {"Fn::GetAtt": ["ApiLambdaFunction", "Arn"]}},
        },
        "Route": {
            "Type": "AWS::ApiGatewayV2::Route",
            "Properties": {"RouteKey": "GET /orders", "Target": {"Ref": "Api"}},
        },
    }
}


def with_tool(folder: Path, script: str, text: str = SERVERLESS) -> Project:
    """A project with a stand-in for osls in node_modules."""
    made = imported(folder, text)
    made.write({"template.txt": json.dumps(TEMPLATE), "node_modules/.bin/osls": script})
    (made.root / "node_modules/.bin/osls").chmod(0o755)
    return made


COPY = """\
#!/bin/sh
mkdir .fabric-compare
cp template.txt .fabric-compare/cloudformation-template-update-stack.json
"""


def test_a_conversion_is_compared_and_nothing_is_written(tmp_path: Path) -> None:
    made = with_tool(tmp_path, COPY)
    done = made.fabric("import", "--compare")
    assert done.code == 0, done.out + done.err
    assert done.out == (
        "Compared serverless.yml (osls) with the conversion to fabric.yml: 6 equal, 0 different\n"
    )
    assert not (made.root / "fabric.yml").exists()
    assert not (made.root / ".fabric-compare").exists()


def test_an_existing_config_is_compared(tmp_path: Path) -> None:
    made = with_tool(tmp_path, COPY)
    made.fabric("import")
    config = made.root / "fabric.yml"
    changed = config.read_text().replace("memory: 1024", "memory: 512").replace("/orders", "/o")
    config.write_text(changed)
    done = made.json("import", "--compare")
    assert done.code == 2
    assert done.result == {
        "source": "serverless.yml",
        "tool": "osls",
        "config": "fabric.yml",
        "isConverted": False,
        "equal": 4,
        "differences": [
            {"function": "api", "kind": "http", "other": "GET /orders", "fabric": "GET /o"},
            {"function": "api", "kind": "memory", "other": "1024", "fabric": "512"},
        ],
        "archives": [],
    }
    assert made.fabric("import", "--compare").out.splitlines()[1:] == [
        "  function  kind    osls         fabric",
        "  api       http    GET /orders  GET /o",
        "  api       memory  1024         512",
    ]


def test_conditions_of_resources_are_evaluated(tmp_path: Path) -> None:
    rule = {
        "Type": "AWS::Events::Rule",
        "Properties": {
            "ScheduleExpression": {"Fn::If": ["IsProd", "rate(1 hour)", "rate(5 minutes)"]},
            "Targets": [{"Id": "a", "Arn": {"Fn::GetAtt": ["ApiLambdaFunction", "Arn"]}}],
        },
    }
    template = {
        **TEMPLATE,
        "Parameters": {"Stage": {"Type": "String", "Default": "dev"}},
        "Conditions": {"IsProd": {"Fn::Equals": [{"Ref": "Stage"}, "prod"]}},
        "Resources": {
            **TEMPLATE["Resources"],
            "Rule": rule,
            "Other": {**rule, "Condition": "IsProd"},
        },
    }
    made = with_tool(tmp_path, COPY)
    made.fabric("import")
    config = made.root / "fabric.yml"
    cron = "    triggers:\n      - {type: cron, schedule: rate(5 minutes)}\n"
    config.write_text(config.read_text().replace("    triggers:\n", cron))
    made.write({"template.txt": json.dumps(template)})
    done = made.json("import", "--compare")
    assert (done.code, done.result["differences"]) == (0, []), done.out


def test_another_stage_is_compared(tmp_path: Path) -> None:
    script = COPY.replace("mkdir", 'test "$4 $5" = "--stage prod"\nmkdir') + "exit $?\n"
    made = with_tool(tmp_path, script.replace("#!/bin/sh", "#!/bin/sh -e"))
    assert made.json("import", "--compare", "--stage", "prod").code == 0
    assert made.json("import", "--compare").error["code"] == "import/tool-failed"


def test_files_of_only_one_archive_are_listed(tmp_path: Path) -> None:
    script = COPY + f"cd .fabric-compare\n{sys.executable} -m zipfile -c s.zip ../*\n"
    template = json.loads(json.dumps(TEMPLATE))
    template["Resources"]["ApiLambdaFunction"]["Properties"]["Code"] = {"S3Key": "a/b/s.zip"}
    made = with_tool(tmp_path, script)
    made.write({"template.txt": json.dumps(template), "mail/welcome.html": "hi", "README.md": ""})
    done = made.json("import", "--compare")
    assert done.code == 0, done.out
    [archive] = done.result["archives"]
    assert archive["function"] == "api"
    assert "mail/welcome.html" in archive["onlyOther"]
    assert "README.md" not in archive["onlyOther"]
    assert "api: files only of osls" in made.fabric("import", "--compare").out
    broken = {"src/api.js": "import x from './missing.js';\nexport const handler = x;\n"}
    made.write(broken)
    assert "import/archives-not-compared" in made.fabric("import", "--compare").err


def test_the_tool_cannot_change_files_of_the_project(tmp_path: Path) -> None:
    made = with_tool(tmp_path, COPY + "echo changed > src/api.js; echo changed > serverless.yml\n")
    assert made.fabric("import", "--compare").code == 0
    assert (made.root / "src/api.js").read_text() == CODE["src/api.js"]
    assert (made.root / "serverless.yml").read_text() == SERVERLESS


def test_the_tool_gets_no_credentials_of_the_environment(tmp_path: Path) -> None:
    script = COPY.replace("mkdir", 'test "$AWS_SECRET_ACCESS_KEY$CLOUD1_REGION" = compare\nmkdir')
    made = with_tool(tmp_path, script.replace("#!/bin/sh", "#!/bin/sh -e"))
    env = {"AWS_SECRET_ACCESS_KEY": "hunter2", "CLOUD1_REGION": "eu-central-1"}
    assert made.fabric("import", "--compare", env=env).code == 0


def test_values_of_variables_are_not_compared_or_printed(tmp_path: Path) -> None:
    text = SERVERLESS.replace("${self:custom.table}", "${env:DB_PASSWORD}")
    made = with_tool(tmp_path, COPY, text)
    done = made.json("import", "--compare", env={"DB_PASSWORD": "hunter2hunter2"})
    assert (done.code, "hunter2" in done.out + done.err) == (0, False)


def test_credentials_of_event_patterns_are_not_printed(tmp_path: Path) -> None:
    pattern = {"detail": {"token": ["Hunter2", "Hunter3"]}}
    rule = {
        "EventPattern": pattern,
        "Targets": [{"Arn": {"Fn::GetAtt": ["ApiLambdaFunction", "Arn"]}}],
    }
    resources = {**TEMPLATE["Resources"], "Rule": {"Type": "AWS::Events::Rule", "Properties": rule}}
    made = with_tool(tmp_path, COPY)
    made.write({"template.txt": json.dumps({"Resources": resources})})
    done = made.json("import", "--compare")
    [different] = done.result["differences"]
    assert different["kind"] == "rule"
    assert "Hunter" not in done.out


def test_a_missing_tool_is_an_error_with_the_command_to_install_it(tmp_path: Path) -> None:
    done = imported(tmp_path).json("import", "--compare", env={"PATH": ""})
    assert (done.code, done.error["code"]) == (1, "import/no-tool")
    assert "npm install" in done.error["hint"]


def test_the_output_of_a_failed_tool_is_shown_without_credentials(tmp_path: Path) -> None:
    script = "#!/bin/sh\necho 'no such plugin API_TOKEN=hunter2hunter2'; echo Docs >&2; exit 3\n"
    done = with_tool(tmp_path, script).json("import", "--compare")
    assert (done.code, done.error["code"]) == (1, "import/tool-failed")
    assert "no such plugin" in done.error["message"]
    assert "hunter2" not in done.out


def sam_project(folder: Path, translator: str) -> Project:
    """A project with a stand-in for the translator of AWS."""
    made = imported(folder, SAM, "template.yaml")
    made.write(
        {
            "stand-in/boto3.py": "def Session(**_): return None\n",
            "stand-in/samtranslator/parser/parser.py": "def Parser(): return None\n",
            "stand-in/samtranslator/translator/translator.py": translator,
        }
    )
    return made


def test_a_template_of_sam_is_compared(tmp_path: Path) -> None:
    translator = """\
class Translator:
    def __init__(self, *_, **__): pass
    def translate(self, template, parameters):
        assert template["Resources"]["Api"]["Properties"]["CodeUri"].startswith("s3://")
        properties = {"Runtime": "nodejs22.x", "Environment": {"Variables": {"TABLE": 1}}}
        return {"Resources": {"Api": {"Type": "AWS::Lambda::Function", "Properties": properties}}}
"""
    made = sam_project(tmp_path, translator)
    done = made.json("import", "--compare", env={"PYTHONPATH": str(made.root / "stand-in")})
    assert done.code == 0, done.out
    assert (done.result["tool"], done.result["equal"]) == ("aws-sam-translator", 3)


def test_the_translator_of_sam_is_optional(tmp_path: Path) -> None:
    made = imported(tmp_path, SAM, "template.yaml")
    done = made.json("import", "--compare")
    assert (done.code, done.error["code"]) == (1, "import/no-tool")
    assert "pip install aws-sam-translator" in done.error["hint"]


@pytest.mark.parametrize(
    ("files", "args", "code"),
    [
        ({}, ("--force",), "usage/conflict"),
        ({"serverless.yml": None, "vercel.json": "{}", "api/a.js": ""}, (), "usage/unsupported"),
        (
            {"serverless.yml": None, "a/serverless.yml": SERVERLESS},
            ("a", "--out", "x"),
            "usage/conflict",
        ),
    ],
)
def test_comparisons_that_are_not_possible_are_refused(
    files: dict[str, str | None], args: tuple[str, ...], code: str, tmp_path: Path
) -> None:
    made = imported(tmp_path)
    for name, text in files.items():
        if text is None:
            (made.root / name).unlink()
        else:
            made.write({name: text})
    done = made.json("import", "--compare", *args)
    assert (done.code, done.error["code"]) == (64, code)


def test_several_services_are_ambiguous(tmp_path: Path) -> None:
    made = imported(tmp_path, name="a/serverless.yml")
    made.write({"b/serverless.yml": SERVERLESS, "a/src/api.js": "", "b/src/api.js": "", **CODE})
    done = made.json("import", "--compare")
    assert (done.code, done.error["code"]) == (64, "usage/ambiguous")


def test_included_files_and_values_of_samconfig_are_compared(tmp_path: Path) -> None:
    translator = """\
class Translator:
    def __init__(self, *_, **__): pass
    def translate(self, template, parameters):
        assert template["Included"] == {"a": 1}
        assert "/etc/passwd" in template["Kept"]["Fn::Transform"]["Parameters"]["Location"]
        variables = {"TABLE": 1}
        properties = {"Runtime": "nodejs22.x", "Environment": {"Variables": variables}}
        properties["MemorySize"] = {"Ref": "Size"}
        api = {"Type": "AWS::Lambda::Function", "Properties": properties}
        return {"Resources": {"Api": api}, "Parameters": {"Size": {"Default": 128}}}
"""
    made = sam_project(tmp_path, translator)
    include = "{Fn::Transform: {Name: AWS::Include, Parameters: {Location: %s}}}\n"
    text = SAM.replace("Runtime: nodejs22.x", "Runtime: nodejs22.x\n      MemorySize: !Ref Size")
    text += "Parameters: {Size: {Type: Number, Default: 128}}\n"
    text += f"Included: {include % 'a.yml'}Kept: {include % '../../../../../../etc/passwd'}"
    config = '[default.deploy.parameters]\nparameter_overrides = "Size=512"\n'
    made.write({"template.yaml": text, "a.yml": "a: 1\n", "samconfig.toml": config})
    done = made.json("import", "--compare", env={"PYTHONPATH": str(made.root / "stand-in")})
    assert (done.code, done.result["differences"]) == (0, []), done.out


def test_bindings_of_a_worker_are_compared(tmp_path: Path) -> None:
    made = imported(
        tmp_path,
        '{"name": "shop", "main": "src/api.js", "compatibility_date": "2026-01-01",'
        ' "vars": {"GREETING": "hello"}, "kv_namespaces": [{"binding": "KV", "id": "0123"}],'
        ' "ai": {"binding": "AI"}, "r2_buckets": [{"binding": "FILES", "bucket_name": "files"}]}',
        "wrangler.json",
    )
    script = (
        "#!/bin/sh\ncat <<END\nBinding                 Resource\n"
        "env.KV (0123)           KV Namespace\nenv.FILES (other)       R2 Bucket\n"
        'env.AI                  AI\nenv.GREETING ("hello")  Environment Variable\nEND\n'
    )
    made.write({"node_modules/.bin/wrangler": script})
    (made.root / "node_modules/.bin/wrangler").chmod(0o755)
    done = made.json("import", "--compare")
    assert (done.code, done.result["tool"], done.result["equal"]) == (2, "wrangler", 3)
    [different] = done.result["differences"]
    assert (different["other"], different["fabric"]) == ("FILES other", "FILES files")
    assert "hello" not in done.out


@pytest.mark.slow
def test_bindings_equal_those_of_wrangler(tmp_path: Path) -> None:
    made = imported(
        tmp_path,
        '{"name": "shop", "main": "src/api.js", "compatibility_date": "2026-01-01",'
        ' "vars": {"GREETING": "hello"}, "kv_namespaces": [{"binding": "KV", "id": "0123"}],'
        ' "queues": {"producers": [{"binding": "ORDERS", "queue": "orders"}]},'
        ' "services": [{"binding": "OTHER", "service": "other"}]}',
        "wrangler.json",
    )
    made.write({"src/api.js": "export default { fetch: () => new Response('') };\n"})
    (made.root / "node_modules").symlink_to(installed() / "node_modules")
    done = made.json("import", "--compare")
    assert (done.code, done.result["equal"], done.result["differences"]) == (0, 4, []), done.out
