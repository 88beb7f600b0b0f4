"""Record what other tools generate from the cases: `python -m tests.importing.oracle.record`.

The tools are installed with npm and pip into a cache directory. They run without credentials.
"""

import hashlib
import json
import os
import subprocess
import sys
import tempfile
import venv
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import yaml

from tests.support.import_cases import FILES, FOLDER, TOOLS, Case, Values, load_cases

_CACHE = Path.home() / ".cache" / "fabric-tests" / "oracle"
_PLUGINS = {
    "osls-3.63.2": (
        "serverless-step-functions@3.21.1",
        "serverless-iam-roles-per-function@3.2.0",
        "serverless-prune-plugin@2.1.0",
        "serverless-wsgi@3.1.0",
    )
}
# Parts of templates that no row is read from.
_UNUSED_TYPES = (
    *("AWS::Lambda::Permission", "AWS::Lambda::Version", "AWS::ApiGateway::Deployment"),
    *("AWS::S3::BucketPolicy", "AWS::ApiGateway::Stage", "AWS::ApiGatewayV2::Stage"),
)
_UNUSED = ("Code", "AssumeRolePolicyDocument", "MethodResponses", "RequestTemplates")
_BUCKET = "ServerlessDeploymentBucket"


def _install_osls(name: str) -> Path:
    folder = _CACHE / name
    program = folder / "node_modules" / ".bin" / "osls"
    if not program.exists():
        folder.mkdir(parents=True, exist_ok=True)
        package = name.replace("osls-", "osls@")
        options = ["--ignore-scripts", "--no-audit", "--no-fund"]
        command = ["npm", "install", *options, "--prefix", str(folder), package]
        subprocess.run([*command, *_PLUGINS.get(name, ())], check=True)
    return program


def _run_osls(name: str) -> Callable[[Case], Values]:
    program = _install_osls(name)

    def run(case: Case) -> Values:
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder)
            for path, text in FILES.items():
                (place / path).parent.mkdir(parents=True, exist_ok=True)
                (place / path).write_text(text)
            (place / "serverless.yml").write_text(yaml.safe_dump(case.source, sort_keys=False))
            (place / "node_modules").symlink_to(program.parents[1])
            env = {
                "PATH": os.environ["PATH"],  # noqa: TID251 - a script
                "HOME": folder,
                "CI": "1",
                "AWS_ACCESS_KEY_ID": "x",
                "AWS_SECRET_ACCESS_KEY": "x",
                "AWS_REGION": "us-east-1",
                "AWS_EC2_METADATA_DISABLED": "true",
                "SLS_TELEMETRY_DISABLED": "1",
                "SLS_NOTIFICATIONS_MODE": "off",
            }
            command = [str(program), "package", "--package", "out"]
            done = subprocess.run(
                command, cwd=place, env=env, capture_output=True, text=True, check=False
            )
            if done.returncode:
                raise RuntimeError(f"{done.stdout[-1500:]}{done.stderr[-1500:]}")
            text = (place / "out" / "cloudformation-template-update-stack.json").read_text()
        found: Values = json.loads(text)
        return found

    return run


def _run_sam(name: str) -> Callable[[Case], Values]:
    folder = _CACHE / name
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
        package = name.replace("translator-", "translator==")
        subprocess.run([str(python), "-m", "pip", "install", "-q", package, "boto3"], check=True)
    script = Path(__file__).parents[3] / "fabric" / "system" / "sam_translation.py"

    def run(case: Case) -> Values:
        command = [str(python), "-P", str(script)]
        text = json.dumps(case.source)
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(done.stderr[-1500:])
        found: Values = json.loads(done.stdout)
        return found

    return run


def _trim(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _trim(one) for key, one in value.items() if key not in _UNUSED}
    return [_trim(one) for one in value] if isinstance(value, list) else value


def _select(template: Values) -> Values:
    resources = {
        key: {"Type": one["Type"], "Properties": _trim(one.get("Properties") or {})}
        for key, one in template["Resources"].items()
        if one["Type"] not in _UNUSED_TYPES and not key.startswith(_BUCKET)
    }
    return {"Resources": resources}


def _remember(name: str, case: Case, run: Callable[[Case], Values]) -> Values | str:
    """Return the template, or the error of the tool. Results of equal sources are kept."""
    digest = hashlib.sha256(json.dumps(case.source).encode()).hexdigest()[:24]
    file = _CACHE / "results" / name / f"{digest}.json"
    if not file.exists():
        try:
            text = json.dumps(run(case))
        except RuntimeError as error:
            return str(error)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    found: Values = json.loads(file.read_text())
    return found


def _record(name: str, cases: list[Case]) -> list[str]:
    """Write the recording of a tool, and return the errors."""
    run = _run_sam(name) if cases[0].tool == "sam" else _run_osls(name)
    with ThreadPoolExecutor(4) as pool:
        found = pool.map(lambda one: _remember(name, one, run), cases)
        results = dict(zip((one.name for one in cases), found, strict=True))
    lines = (
        json.dumps({"case": key, "template": _select(one)}, separators=(",", ":"), sort_keys=True)
        for key, one in results.items()
        if not isinstance(one, str)
    )
    (FOLDER / f"{name}.jsonl").write_text("".join(f"{line}\n" for line in lines))
    sys.stdout.write(f"{name}: {len(cases)} cases\n")
    return [f"{name} {key}: {one}" for key, one in results.items() if isinstance(one, str)]


def main() -> None:
    cases = load_cases()
    errors = [
        error
        for tool, names in reversed(TOOLS.items())
        for name in names
        for error in _record(
            name, [one for one in cases if one.tool == tool and name in one.recordings]
        )
    ]
    if errors:
        raise SystemExit("\n".join(errors))


if __name__ == "__main__":
    main()
