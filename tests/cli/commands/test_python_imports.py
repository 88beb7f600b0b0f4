"""Unknown imports: told of every build, and an error to a strict one."""

from pathlib import Path

import pytest

from fabric.model.problems import ExitCode
from tests.support.in_process import compose, project
from tests.support.project import Done, Project
from tests.support.wheels import environment, write_wheel

CONFIG = """\
service: shop
provider: {name: PROVIDER, runtime: python3.12}
functions:
  - {name: one, entry: src.api.one.handler}
"""
HANDLER = "\n\ndef handler(event, context):\n    return 1\n"


def shop(folder: Path, source: str, provider: str = "cloud1-lambda", **files: str) -> Project:
    more = {name.replace("_", "."): text for name, text in files.items()}
    config = CONFIG.replace("PROVIDER", provider)
    return project(folder, config, {"src/api/one.py": source + HANDLER, **more})


def tells(done: Done) -> bool:
    return "warning[build/unknown-import]" in done.err


@pytest.mark.parametrize("verb", ["build", "package", "deploy"])
def test_an_unknown_import_is_a_warning_each_time(verb: str, tmp_path: Path) -> None:
    made = shop(tmp_path, "import json\nimport reqests")
    for _ in range(3):
        done = made.fabric(verb)
        assert done.code == 0
        assert tells(done)
        assert "src/api/one.py:2" in done.err
        assert "`reqests`" in done.err


@pytest.mark.parametrize("verb", ["build", "package", "deploy"])
def test_a_strict_run_fails_for_it_whatever_is_remembered(verb: str, tmp_path: Path) -> None:
    made = shop(tmp_path, "import reqests")
    for _ in range(2):
        done = made.json(verb, "--strict")
        assert done.code == ExitCode.FAILED
        assert done.error["code"] == "build/unknown-import"
        assert done.error["where"] == {"file": "src/api/one.py", "line": 1, "column": 0}
        assert not (made.root / ".fabric/state").exists()
        assert verb == "deploy" or made.fabric(verb).code == 0


def test_a_strict_deploy_fails_though_all_of_it_is_live(tmp_path: Path) -> None:
    made = shop(tmp_path, "import reqests")
    assert made.fabric("deploy").code == 0
    done = made.json("deploy", "--strict")
    assert done.code == ExitCode.FAILED
    assert done.error["code"] == "build/unknown-import"


def test_a_strict_run_over_many_services_names_the_one(tmp_path: Path) -> None:
    made = compose(tmp_path, good=(), bad=())
    made.write({"bad/main.py": f"import reqests{HANDLER}"})
    done = made.json("compose", "build", "--strict")
    assert done.code == ExitCode.PARTIAL
    assert done.error["where"]["file"] == "bad/main.py"
    assert made.json("compose", "package", "--service", "good", "--strict").code == 0


def test_an_edit_elsewhere_does_not_silence_it(tmp_path: Path) -> None:
    made = shop(tmp_path, "import reqests")
    two = "  - {name: two, entry: src/two.py}\n"
    made.write({"fabric.yml": (made.root / "fabric.yml").read_text() + two, "src/two.py": HANDLER})
    assert tells(made.fabric("build"))
    made.write({"src/two.py": f"# edited{HANDLER}"})
    assert tells(made.fabric("build"))
    made.write({"src/api/one.py": HANDLER})
    assert not tells(made.fabric("build"))
    assert made.fabric("build", "--strict").code == 0


def test_provider_modules_are_known_only_at_that_provider(tmp_path: Path) -> None:
    source = "import boto3\nfrom botocore.config import Config"
    assert not tells(shop(tmp_path / "a", source).fabric("build"))
    assert tells(shop(tmp_path / "b", source, "cloud4-fc").fabric("build"))


def test_layer_modules_are_not_guessed(tmp_path: Path) -> None:
    made = shop(tmp_path, "import reqests")
    layers = "layers: [{name: sdk, arn: 'arn:aws:lambda:x:1:layer:sdk', version: 3}]\n"
    text = (made.root / "fabric.yml").read_text()
    own = text.replace("one.handler}", "one.handler, layers: [sdk]}")
    made.write({"fabric.yml": layers + own})
    assert not tells(made.fabric("build"))
    assert not tells(made.fabric("package"))


def test_files_of_include_answer_imports(tmp_path: Path) -> None:
    made = shop(tmp_path, "import fast")
    text = (made.root / "fabric.yml").read_text()
    own = text.replace("one.handler}", "one.handler, include: ['*.so']}")
    made.write({"fabric.yml": own, "fast.cpython-312-x86_64-linux-gnu.so": ""})
    assert not tells(made.fabric("build"))


def test_pattern_without_matches_warns_every_time(tmp_path: Path) -> None:
    made = shop(tmp_path, "import json")
    text = (made.root / "fabric.yml").read_text()
    made.write({"fabric.yml": text.replace("one.handler}", "one.handler, include: ['*.sql']}")})
    for _ in range(3):
        assert "warning[config/no-match]" in made.fabric("build", "--strict").err


def test_build_does_not_guess_package_contents(tmp_path: Path) -> None:
    made = shop(tmp_path, "import starlette, grpc", requirements_txt="fastapi==0.1\ngrpcio==1.0\n")
    assert not tells(made.fabric("build"))
    made.write({"src/api/one.py": f"from .missing import x{HANDLER}"})
    assert "`.missing`" in made.fabric("build").err


@pytest.mark.slow
def test_package_checks_imports_against_installed_packages(tmp_path: Path) -> None:
    index = tmp_path / "index"
    write_wheel(index, "owner", ["inner-part"])
    write_wheel(index, "inner-part")
    env = {name: text for name, text in environment(index).items() if name.startswith("PIP_")}
    made = shop(tmp_path / "a", "import owner, inner_part", requirements_txt="owner==1.0\n")
    for verb in ("build", "package"):
        assert made.fabric(verb, "--strict", env=env).code == 0
    made.write({"src/api/one.py": f"import owner, other{HANDLER}"})
    assert made.fabric("build").code == 0
    strict = [made.json(verb, "--strict", env=env) for verb in ("build", "package") * 2]
    assert {done.code for done in strict} == {ExitCode.FAILED}
    assert {done.error["code"] for done in strict} == {"build/unknown-import"}
    assert all("`other`" in done.error["message"] for done in strict)
