"""`import --compare`: fabric's config against the template that the other tool generates.

Copy of the project -> template of the other tool, and resolved config of fabric -> rows -> report.

The other tool runs the plugins of the project, with made-up credentials. The project is not
changed.
"""

import json
import os
import re
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from msgspec.structs import replace

from fabric.app.importing.archives import (
    Archives,
    compare_archives,
    list_code_folders,
    list_packed_archives,
)
from fabric.app.importing.check import open_copy, write_changes
from fabric.app.importing.project import (
    ConvertedSource,
    ImportRequest,
    Prepared,
    convert_project,
)
from fabric.app.importing.sources import format_shown
from fabric.app.importing.wrangler import list_binding_rows, list_wrangler_rows
from fabric.app.request import Where
from fabric.app.settings import Settings
from fabric.app.validate import show_config
from fabric.config.yaml.nodes import Node, convert_to_plain
from fabric.config.yaml.reader import read
from fabric.importing.config_rows import list_config_rows
from fabric.importing.credentials import Credentials
from fabric.importing.files import CONFIG_FILE
from fabric.importing.row_values import Row
from fabric.importing.sam.conditions import choose_branches
from fabric.importing.sam.config import CONFIG_FILE as SAM_CONFIG_FILE
from fabric.importing.sam.config import read_deploy_settings
from fabric.importing.source import Ledger
from fabric.importing.template_rows import (
    align,
    list_differences,
    list_template_rows,
    read_default,
)
from fabric.model.outcomes.imported import ArchiveDifference, ComparisonOutcome, RowDifference
from fabric.model.outcomes.queried import ConfigOutcome
from fabric.model.problems import ExitCode, FabricError, Problem
from fabric.model.report import Report
from fabric.model.secrets.secrecy import redact_credentials
from fabric.system import sam_translation
from fabric.system.process.process import ChildResult, run_child

_PROGRAMS = ("osls", "serverless", "sls")
_VARIABLE = re.compile(r"\$\{env:([A-Za-z_][A-Za-z0-9_]*)")
_SECRET = re.compile(r"\$\{secret:(\w+)")
_PLACEHOLDER = "compare"
_DEFAULT_STAGE = "dev"
_REGION = "us-east-1"
_OUT = ".fabric-compare"
_SECONDS = 600
_LINES = 10
# Ends of logical ids that tools add to names of functions.
_SUFFIXES = {"serverless": "LambdaFunction", "sam": ""}


class _Service(NamedTuple):
    """The service to compare: a directory in a copy of the project, its source, and the stage."""

    folder: Path
    source: ConvertedSource
    settings: Settings
    # "" if none is given.
    stage: str

    @property
    def stage_name(self) -> str:
        return self.stage or _DEFAULT_STAGE


class _Template(NamedTuple):
    """The template of the other tool, and the files in its archives as far as they exist."""

    tool: str
    document: Any
    archives: Archives


class _Compared(NamedTuple):
    """The tool, the rows of fabric and of the tool, and the archives."""

    tool: str
    own: set[Row]
    other: set[Row]
    archives: tuple[ArchiveDifference, ...]
    warnings: tuple[Problem, ...]


def compare_import(request: ImportRequest, settings: Settings) -> Report:
    found = convert_project(request, settings)
    one = _choose_source(found)
    path = one.read.folder / CONFIG_FILE
    is_converted = not path.is_file()
    with open_copy(found.top, has_links=False) as copy:
        if copy is None:
            message = "the project has too many files for a comparison"
            raise FabricError(Problem("input/too-many", message, "name the directory of a service"))
        if is_converted:
            write_changes(found.changes, found.top, copy)
        folder = copy / one.read.folder.relative_to(found.top)
        rows = _compare(_Service(folder, one, settings, "".join(request.stages[:1])))
    differences = tuple(
        RowDifference(
            function=first.function,
            kind=first.kind,
            other=_hide_credentials(first.value),
            fabric=_hide_credentials(second.value),
        )
        for first, second in list_differences(rows.other, rows.own)
    )
    outcome = ComparisonOutcome(
        source=one.read.source.shown,
        tool=rows.tool,
        config=format_shown(path, settings.cwd),
        is_converted=is_converted,
        equal=len(rows.own & rows.other),
        differences=differences,
        archives=rows.archives,
    )
    code = ExitCode.PARTIAL if differences else ExitCode.OK
    return Report("import", outcome, exit_code=code, warnings=rows.warnings)


def _hide_credentials(text: str) -> str:
    """Replace the credentials of a row, which can be a pattern in JSON."""
    try:
        is_map = isinstance(json.loads(text), dict)
    except ValueError:
        is_map = False
    if not is_map:
        return redact_credentials(text)
    root = read("pattern.json", text.encode()).root
    return json.dumps(convert_to_plain(Credentials(Ledger()).replace(root, is_named=True)))


def _choose_source(found: Prepared) -> ConvertedSource:
    if len(found.done) != 1:
        message = "--compare needs one service, and several were found"
        raise FabricError(Problem("usage/ambiguous", message, "name the directory of one service"))
    [one] = found.done
    if one.read.source.kind not in (*_TOOLS, "wrangler"):
        message = f"--compare is not supported for {one.read.source.kind}"
        hint = "use it with serverless.yml, a template of AWS SAM, or a config of Wrangler"
        raise FabricError(Problem("usage/unsupported", message, hint))
    return one


def _compare(service: _Service) -> _Compared:
    config = _read_config(service)
    if service.source.read.source.kind == "wrangler":
        own = list_binding_rows(config, _list_secrets(service))
        return _Compared("wrangler", own, list_wrangler_rows(_run_wrangler(service), own), (), ())
    known = _list_known(config, service.stage_name)
    templates = _read_templates(service.folder, config)
    kind = service.source.read.source.kind
    made = _TOOLS[kind](service, known["AWS::Region"])
    document, values = made.document, {**known, **_list_given(service, made.document)}
    document = choose_branches(document, values)
    templates = {phase: choose_branches(one, values) for phase, one in templates.items()}
    own = list_config_rows(config, templates, known)
    other = list_template_rows(document, _SUFFIXES[kind], values)
    here = replace(service.settings, env=_build_environment(service))
    written = service.source.made.files
    found = {name: files - written.keys() for name, files in made.archives.items()}
    archives = compare_archives(service.folder, service.stage_name, found, here)
    return _Compared(made.tool, *align(own, other), *archives)


def _list_variables(service: _Service) -> dict[str, str]:
    """List the variables that the source reads. Unset ones get a value for both sides."""
    one, settings = service.source, service.settings
    text = one.read.found.text + "".join(one.made.files.values())
    names = dict.fromkeys(_VARIABLE.findall(text))
    return {name: settings.env.get(name, _PLACEHOLDER) for name in names}


def _read_config(service: _Service) -> Any:
    """Read the config as a deploy of the stage does."""
    here = replace(service.settings, env=_build_environment(service), cwd=service.folder)
    outcome = show_config(Where(stage=service.stage_name), here).outcome
    return outcome.config if isinstance(outcome, ConfigOutcome) else {}


def _build_environment(service: _Service) -> dict[str, str]:
    """Build the environment, with a value for each variable and secret of the config."""
    given = service.settings.env
    env = {**given, **_list_variables(service)}
    return {**env, **{name: given.get(name, _PLACEHOLDER) for name in _list_secrets(service)}}


def _list_secrets(service: _Service) -> list[str]:
    """List the secrets that the config names."""
    return _SECRET.findall((service.folder / CONFIG_FILE).read_text())


def _read_templates(folder: Path, config: Any) -> dict[str, Any]:
    """Read the templates of the stacks by phase."""
    stacks = ((config.get("extensions") or {}).get("cloud1-lambda") or {}).get("stack") or {}
    return {
        phase: convert_to_plain(_read_tree(folder / one["template"]))
        for phase, one in stacks.items()
    }


def _list_known(config: Any, stage: str) -> dict[str, Any]:
    """List the values of names that the other tool, or a deploy, chooses."""
    name = f"{config['service']}-{stage}"
    machines = (one["name"] for one in config.get("workflows") or () if "name" in one)
    return {
        **(config.get("params") or {}),
        "AWS::StackName": name,
        "AWS::Region": (config.get("provider") or {}).get("region") or _REGION,
        **{f"{one}.Name": f"{name}-{one}" for one in machines},
    }


def _list_given(service: _Service, template: Any) -> dict[str, Any]:
    """List the values of parameters that the source has: defaults, and those of samconfig.toml."""
    found = template.get("Parameters") or {}
    values = {name: read_default(name, one) for name, one in found.items()}
    file = service.folder / SAM_CONFIG_FILE
    text = file.read_text() if file.is_file() else None
    given = read_deploy_settings(text).overrides.get(service.stage or "default", {})
    values |= {name: text for name, text in given.items() if name in found}
    return {name: one for name, one in values.items() if one is not None}


def _read_tree(path: Path) -> Node:
    return read(path.name, path.read_bytes(), keeps_tags=True).root


def _open_modules(service: _Service) -> dict[str, str]:
    """Link the installed packages into the copy, and return the variables of a tool."""
    origin = service.source.read.source.file.parent
    for parent in (origin, *origin.parents):
        modules = parent / "node_modules"
        if modules.is_dir():
            (service.folder / "node_modules").symlink_to(modules.resolve())
            break
    path = service.settings.env.get("PATH", "")
    return {**_list_variables(service), "PATH": path, "HOME": str(service.folder), "CI": "1"}


def _run_wrangler(service: _Service) -> str:
    """Let Wrangler bundle the copy without a deploy, and return what it prints."""
    file = service.source.read.source.file
    program = _find_program(file.parent, service.settings, ("wrangler",), "wrangler")
    env = {**_open_modules(service), "WRANGLER_SEND_METRICS": "false", "NO_COLOR": "1"}
    stage = ["--env", service.stage] if service.stage else []
    command = [program, "deploy", "--dry-run", "--outdir", _OUT, "--config", file.name, *stage]
    done = run_child(command, cwd=service.folder, env=env, timeout=_SECONDS)
    _require_success("wrangler deploy --dry-run", done)
    return done.stdout.decode(errors="replace")


def _run_osls(service: _Service, region: str) -> _Template:
    """Let osls, or the Serverless Framework, package the copy."""
    folder, one, settings = service.folder, service.source, service.settings
    program = _find_program(one.read.source.file.parent, settings, _PROGRAMS, "osls")
    env = {
        **_open_modules(service),
        "AWS_ACCESS_KEY_ID": "compare",
        "AWS_SECRET_ACCESS_KEY": "compare",
        "AWS_REGION": region,
        "AWS_EC2_METADATA_DISABLED": "true",
        "SLS_TELEMETRY_DISABLED": "1",
        "SLS_NOTIFICATIONS_MODE": "off",
    }
    options = ["--stage", service.stage_name, "--region", region]
    config = ["--config", one.read.source.file.name]
    command = [program, "package", "--package", _OUT, *options, *config]
    name = Path(program).name
    _require_success(f"{name} package", run_child(command, cwd=folder, env=env, timeout=_SECONDS))
    out = folder / _OUT
    document = json.loads((out / "cloudformation-template-update-stack.json").read_text())
    return _Template(name, document, list_packed_archives(document, out, _SUFFIXES["serverless"]))


def _find_program(folder: Path, settings: Settings, programs: Sequence[str], package: str) -> str:
    """Find the tool in `node_modules`, otherwise on PATH. fabric never downloads it."""
    places = [str(one / "node_modules" / ".bin") for one in (folder, *folder.parents)]
    path = ":".join((*places, settings.env.get("PATH", "")))
    found = next((one for name in programs if (one := shutil.which(name, path=path))), None)
    if found is None:
        message = f"`{package}` is not in node_modules or on PATH"
        hint = f"run: npm install --save-dev {package}"
        raise FabricError(Problem("import/no-tool", message, hint))
    return found


def _run_sam(service: _Service, region: str) -> _Template:
    """Let the translator of AWS convert the template. No code of the project runs."""
    folder, one, settings = service.folder, service.source, service.settings
    source = _include_files(convert_to_plain(one.read.found.root), folder)
    template = json.dumps(source).encode()
    command = [sys.executable, "-P", sam_translation.__file__]
    env = {"PATH": settings.env.get("PATH", ""), "AWS_REGION": region}
    if "PYTHONPATH" in settings.env:
        env["PYTHONPATH"] = settings.env["PYTHONPATH"]
    done = run_child(command, cwd=folder, env=env, stdin=template, timeout=_SECONDS)
    if done.code and b"No module named" in done.stderr:
        message = "the package aws-sam-translator is not installed"
        hint = f"run: {sys.executable} -m pip install aws-sam-translator boto3"
        raise FabricError(Problem("import/no-tool", message, hint))
    _require_success("aws-sam-translator", done)
    archives = list_code_folders(convert_to_plain(one.read.found.root), folder)
    return _Template("aws-sam-translator", json.loads(done.stdout), archives)


def _include_files(value: Any, folder: Path) -> Any:
    """Replace transforms that include a file of the project, as CloudFormation does."""
    if isinstance(value, list):
        return [_include_files(one, folder) for one in value]
    if not isinstance(value, dict):
        return value
    include = value.get("Fn::Transform")
    if isinstance(include, dict) and include.get("Name") == "AWS::Include":
        path = Path(os.path.realpath(folder / str(include["Parameters"]["Location"])))
        if path.is_relative_to(os.path.realpath(folder)) and path.is_file():
            return convert_to_plain(_read_tree(path))
    return {key: _include_files(one, folder) for key, one in value.items()}


def _require_success(what: str, done: ChildResult) -> None:
    if done.code:
        # osls prints its errors to standard output, and where to report them to standard error.
        text = (done.stdout + b"\n" + done.stderr).decode(errors="replace")
        lines = [one for one in text.splitlines() if one.strip()][-_LINES:]
        message = f"`{what}` failed: {redact_credentials(chr(10).join(lines))}"
        raise FabricError(Problem("import/tool-failed", message, "run the tool to see its output"))


_TOOLS = {"serverless": _run_osls, "sam": _run_sam}
