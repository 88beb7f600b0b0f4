"""`${param:…}`, `${file:…}` and the `.env` of a monorepo, as the command line sees them."""

from pathlib import Path

import pytest

from tests.support.in_process import compose, project
from tests.support.project import Project

CONFIG = """\
service: shop
provider: {name: cloud1-lambda, runtime: python3.11}
params: {domain: dev.shop.example, mail: "post@${param:domain}"}
stages:
  prod: {params: {domain: shop.example}}
env: {DOMAIN: "${param:domain}", MAIL: "${param:mail}", VERSION: "${file:VERSION,none}"}
functions:
  - {name: one, entry: one.py}
"""


@pytest.fixture
def made(tmp_path: Path) -> Project:
    return project(tmp_path, CONFIG, sources={"one.py": "def handler(event, context): ...\n"})


def env_of(made: Project, *words: str) -> dict[str, str]:
    found: dict[str, str] = made.json("config", "show", *words).result["config"]["env"]
    return found


def test_a_parameter_is_that_of_the_stage_unless_it_is_given(made: Project) -> None:
    assert env_of(made)["DOMAIN"] == "dev.shop.example"
    assert env_of(made, "--stage", "prod")["MAIL"] == "post@shop.example"
    given = env_of(made, "--stage", "prod", "--param", "domain=a=b")
    assert (given["DOMAIN"], given["MAIL"]) == ("a=b", "post@a=b")


def test_unset_parameter_is_named(made: Project) -> None:
    made.write({"fabric.yml": CONFIG.replace('${param:domain}"', '${param:domian}"')})
    done = made.json("plan")
    assert (done.code, done.error["code"]) == (65, "config/unset-param")
    assert "--param domian=" in done.error["hint"]
    assert made.fabric("plan", "--param", "domian=x").code == 0


@pytest.mark.parametrize("word", ["domain", "=x", "domain=a --param domain=b"])
def test_a_parameter_that_cannot_be_read_is_a_usage_error(word: str, made: Project) -> None:
    done = made.json("plan", "--param", *word.split())
    assert (done.code, done.error["code"]) == (64, "usage/bad-param")


def test_a_parameter_that_no_config_binds_is_warned_about(made: Project) -> None:
    done = made.fabric("plan", "--param", "domian=x")
    assert done.code == 0
    assert "config/unused-param" in done.err
    assert "did you mean `domain`?" in done.err


def test_parameter_changes_the_deployment(made: Project) -> None:
    assert made.fabric("deploy").code == 0
    assert made.fabric("plan", "--detailed-exitcode").code == 0
    moved = made.fabric("plan", "--detailed-exitcode", "--param", "domain=other.example")
    assert moved.code == 2
    assert "env DOMAIN changed" in moved.out


def test_a_bound_file_is_read_and_its_coming_and_changing_are_seen(made: Project) -> None:
    assert env_of(made)["VERSION"] == "none"
    assert made.fabric("deploy").code == 0
    for text in ("1.0\n", "2.0\n"):
        made.write({"VERSION": text})
        plan = made.fabric("plan", "--detailed-exitcode")
        assert plan.code == 2, "a graph was kept over an edit of a file that it hangs on"
        assert made.fabric("deploy").code == 0
        assert env_of(made)["VERSION"] == text.strip()


def test_a_file_out_of_the_project_or_of_no_text_is_refused(made: Project, tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("secret")
    (made.root / "link").symlink_to(tmp_path / "outside")
    (made.root / "picture").write_bytes(b"\xff\xfe")
    (made.root / "folder").mkdir()
    for path in ("../outside", "link", str(tmp_path / "outside"), "picture", "folder"):
        made.write({"fabric.yml": CONFIG.replace("VERSION,none", path)})
        done = made.json("plan")
        assert (done.code, done.error["code"]) == (65, "config/bad-file"), path
        assert done.error["where"]["line"] == 6
    made.write({"fabric.yml": CONFIG.replace("VERSION,none", "nowhere")})
    assert made.json("plan").error["code"] == "config/missing-file"


def test_service_env_file_overrides_the_monorepo_env_file(tmp_path: Path) -> None:
    made = compose(tmp_path, shop=(), site=())
    for name in ("shop", "site"):
        text = (made.root / name / "fabric.yml").read_text()
        made.write(
            {f"{name}/fabric.yml": text + 'env: {COLOR: "${env:COLOR}", ALL: "${env:ALL}"}\n'}
        )
    made.write({".env": "COLOR=grey\nALL=yes\n", "site/.env": "COLOR=blue\n"})
    assert made.fabric("compose", "deploy").code == 0
    shown = {
        name: made.json("config", "show", "-c", name).result["config"]["env"]
        for name in ("shop", "site")
    }
    assert shown == {
        "shop": {"COLOR": "grey", "ALL": "yes"},
        "site": {"COLOR": "blue", "ALL": "yes"},
    }
    made.write({".env": "COLOR=grey\nALL=no\n"})
    moved = made.fabric("compose", "plan", "--detailed-exitcode")
    assert moved.code == 2


@pytest.mark.parametrize("name", ["../../evil${stage}", "a b ${stage}", "${env:X}"])
def test_bound_value_is_validated_although_it_looks_like_a_binding(
    name: str, made: Project, tmp_path: Path
) -> None:
    made.write({"fabric.yml": CONFIG.replace("service: shop", 'service: "${env:SVC}"')})
    done = made.json("build", env={"SVC": name})
    assert (done.code, done.error["code"]) == (65, "config/bad-value")
    assert not list(tmp_path.rglob("evil*"))


def test_unused_parameter_need_not_resolve(made: Project) -> None:
    made.write({"fabric.yml": CONFIG.replace("params: {", 'params: {other: "${env:NOBODY}", ')})
    assert made.fabric("plan").code == 0


def test_a_file_with_a_nul_is_refused(made: Project) -> None:
    (made.root / "VERSION").write_bytes(b"a\0b")
    assert made.json("plan").error["code"] == "config/bad-file"
