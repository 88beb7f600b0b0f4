"""`import --compare`: fabric's config against the template that the other tool generates.

Copy of the project -> template of the other tool, and resolved config of fabric -> rows -> report.

The other tool runs the plugins of the project, with made-up credentials. The project is not
changed.
"""

import json
import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from fabric.app.import_check import open_copy, write_changes
from fabric.app.import_project import ConvertedSource, ImportRequest, convert_project
from fabric.app.import_sources import format_shown
from fabric.app.request import Where
from fabric.app.settings import Settings
from fabric.app.validate import show_config
from fabric.config.yaml.nodes import Node, convert_to_plain
from fabric.config.yaml.reader import read
from fabric.importing.config_rows import Row, list_config_rows
from fabric.importing.files import CONFIG_FILE
from fabric.importing.template_rows import align, list_differences, list_template_rows
from fabric.model.outcomes.imported import ComparisonOutcome, RowDifference
from fabric.model.outcomes.queried import ConfigOutcome
from fabric.model.problems import ExitCode, FabricError, Problem
from fabric.model.report import Report
from fabric.model.secrecy import redact_credentials
from fabric.system import sam_translation
from fabric.system.process import ChildResult, run_child

_PROGRAMS = ("osls", "serverless", "sls")
_VARIABLE = re.compile(r"\$\{env:([A-Za-z_][A-Za-z0-9_]*)")
_PLACEHOLDER = "compare"
_STAGE = "dev"
_OUT = ".fabric-compare"
_SECONDS = 600
_LINES = 10
_SUFFIX = "LambdaFunction"


def compare_import(request: ImportRequest, settings: Settings) -> Report:
    found = convert_project(request, settings)
    if len(found.done) != 1:
        message = "--compare needs one service, and several were found"
        raise FabricError(Problem("usage/ambiguous", message, "name the directory of one service"))
    [one] = found.done
    if one.read.source.kind not in _TOOLS:
        message = f"--compare is not supported for {one.read.source.kind}"
        raise FabricError(
            Problem(
                "usage/unsupported", message, "use it with serverless.yml or a template of AWS SAM"
            )
        )
    path = one.read.folder / CONFIG_FILE
    is_converted = not path.is_file()
    with open_copy(found.top, has_links=False) as copy:
        if copy is None:
            message = "the project has too many files for a comparison"
            raise FabricError(Problem("input/too-many", message, "name the directory of a service"))
        if is_converted:
            write_changes(found.changes, found.top, copy)
        folder = copy / one.read.folder.relative_to(found.top)
        own = _read_config_rows(folder, one, settings)
        tool, other = _TOOLS[one.read.source.kind](folder, one, settings)
        own, other = align(own, other)
    differences = tuple(
        RowDifference(
            function=first.function, kind=first.kind, other=first.value, fabric=second.value
        )
        for first, second in list_differences(other, own)
    )
    outcome = ComparisonOutcome(
        source=one.read.source.shown,
        tool=tool,
        config=format_shown(path, settings.cwd),
        is_converted=is_converted,
        equal=len(own & other),
        differences=differences,
    )
    code = ExitCode.PARTIAL if differences else ExitCode.OK
    return Report("import", outcome, exit_code=code)


def _list_variables(one: ConvertedSource, settings: Settings) -> dict[str, str]:
    """List the variables that the source reads. Unset ones get a value for both sides."""
    text = one.read.found.text + "".join(one.made.files.values())
    names = dict.fromkeys(_VARIABLE.findall(text))
    return {name: settings.env.get(name, _PLACEHOLDER) for name in names}


def _read_config_rows(folder: Path, one: ConvertedSource, settings: Settings) -> set[Row]:
    env = {**settings.env, **_list_variables(one, settings)}
    secrets = re.findall(r"\$\{secret:(\w+)", one.made.files[CONFIG_FILE])
    env |= {name: settings.env.get(name, _PLACEHOLDER) for name in secrets}
    outcome = show_config(Where(stage=_STAGE), replace(settings, env=env, cwd=folder)).outcome
    config: Any = outcome.config if isinstance(outcome, ConfigOutcome) else {}
    rows = list_config_rows(config)
    for stack in _list_stacks(config):
        template = convert_to_plain(_read_tree(folder / stack["template"]))
        if isinstance(template, Mapping):
            rows |= list_template_rows(template, "", stack.get("parameters") or {})
    return rows


def _list_stacks(config: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    extension = (config.get("extensions") or {}).get("cloud1-lambda") or {}
    yield from (extension.get("stack") or {}).values()


def _read_tree(path: Path) -> Node:
    return read(path.name, path.read_bytes(), keeps_tags=True).root


def _run_osls(folder: Path, one: ConvertedSource, settings: Settings) -> tuple[str, set[Row]]:
    """Let osls, or the Serverless Framework, package the copy."""
    origin = one.read.source.file.parent
    program = _find_program(origin, settings)
    for parent in (origin, *origin.parents):
        modules = parent / "node_modules"
        if modules.is_dir():
            (folder / "node_modules").symlink_to(modules.resolve())
            break
    env = {
        **_list_variables(one, settings),
        "PATH": settings.env.get("PATH", ""),
        "HOME": str(folder),
        "CI": "1",
        "AWS_ACCESS_KEY_ID": "compare",
        "AWS_SECRET_ACCESS_KEY": "compare",
        "AWS_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
        "SLS_TELEMETRY_DISABLED": "1",
        "SLS_NOTIFICATIONS_MODE": "off",
    }
    command = [program, "package", "--package", _OUT, "--stage", _STAGE, "--config"]
    command.append(one.read.source.file.name)
    name = Path(program).name
    _require_success(f"{name} package", run_child(command, cwd=folder, env=env, timeout=_SECONDS))
    text = (folder / _OUT / "cloudformation-template-update-stack.json").read_text()
    return name, list_template_rows(json.loads(text), _SUFFIX)


def _find_program(folder: Path, settings: Settings) -> str:
    """Find the tool in `node_modules`, otherwise on PATH. fabric never downloads it."""
    places = [str(one / "node_modules" / ".bin") for one in (folder, *folder.parents)]
    path = ":".join((*places, settings.env.get("PATH", "")))
    found = next((one for name in _PROGRAMS if (one := shutil.which(name, path=path))), None)
    if found is None:
        message = "`osls` and `serverless` are not in node_modules or on PATH"
        hint = "run: npm install --save-dev osls"
        raise FabricError(Problem("import/no-tool", message, hint))
    return found


def _run_sam(folder: Path, one: ConvertedSource, settings: Settings) -> tuple[str, set[Row]]:
    """Let the translator of AWS convert the template. No code of the project runs."""
    template = json.dumps(convert_to_plain(one.read.found.root)).encode()
    command = [sys.executable, "-P", sam_translation.__file__]
    env = {"PATH": settings.env.get("PATH", ""), "AWS_REGION": "us-east-1"}
    if "PYTHONPATH" in settings.env:
        env["PYTHONPATH"] = settings.env["PYTHONPATH"]
    done = run_child(command, cwd=folder, env=env, stdin=template, timeout=_SECONDS)
    if done.code and b"No module named" in done.stderr:
        message = "the package aws-sam-translator is not installed"
        hint = f"run: {sys.executable} -m pip install aws-sam-translator boto3"
        raise FabricError(Problem("import/no-tool", message, hint))
    _require_success("aws-sam-translator", done)
    return "aws-sam-translator", list_template_rows(json.loads(done.stdout))


def _require_success(what: str, done: ChildResult) -> None:
    if done.code:
        message = f"`{what}` failed: {redact_credentials(done.last_lines(_LINES))}"
        raise FabricError(Problem("import/tool-failed", message, "run the tool to see its output"))


_TOOLS = {"serverless": _run_osls, "sam": _run_sam}
