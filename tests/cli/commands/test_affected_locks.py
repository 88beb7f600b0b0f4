"""`--affected` with a lock that several Python services share: only its changed packages count."""

from pathlib import Path

from tests.support.git import commit, git
from tests.support.in_process import project
from tests.support.lock_texts import HEAD, uv_package
from tests.support.project import Project, handler

SERVICE = (
    "service: {name}\nprovider: {{name: cloud1-lambda, runtime: python3.12}}\n"
    "functions: [{{name: one, entry: one.py}}]\n"
)
MEMBER = '[project]\nname = "{name}"\nversion = "1"\ndependencies = ["{needs}"]\n'


def lock(first: str = "1.0", comment: str = "") -> str:
    rows = (
        uv_package("a", 'virtual = "a"', needs=["idna"]),
        uv_package("b", 'virtual = "b"', needs=["six"]),
        uv_package("idna", version=first),
        uv_package("six"),
    )
    return HEAD + comment + "".join(rows)


def shop(folder: Path) -> Project:
    made = project(folder, sources={})
    members = {
        f"{name}/{file}": text
        for name, needs in (("a", "idna"), ("b", "six"))
        for file, text in (
            ("fabric.yml", SERVICE.format(name=name)),
            ("one.py", handler(name)),
            ("pyproject.toml", MEMBER.format(name=name, needs=needs)),
        )
    }
    made.write(
        {
            "fabric.compose.yml": "services:\n"
            "  - {name: a, config: a/fabric.yml}\n  - {name: b, config: b/fabric.yml}\n",
            "pyproject.toml": '[project]\nname = "root"\nversion = "1"\n'
            '[tool.uv.workspace]\nmembers = ["a", "b"]\n',
            "uv.lock": lock(),
            ".gitignore": ".fabric/\n",
            **members,
        }
    )
    git(made, "init", "-q", "-b", "main")
    commit(made)
    return made


def affected(made: Project) -> str:
    done = made.fabric("compose", "plan", "--affected", "--base", "HEAD")
    [line] = [one for one in done.err.splitlines() if "ffected" in one] or [done.out]
    return line.partition("): ")[2] or line


def test_an_updated_package_affects_only_the_service_that_has_it(tmp_path: Path) -> None:
    made = shop(tmp_path)
    made.write({"uv.lock": lock("2.0")})
    assert affected(made) == "a"


def test_a_comment_in_a_lock_affects_no_service(tmp_path: Path) -> None:
    made = shop(tmp_path)
    made.write({"uv.lock": lock(comment="# locked\n")})
    assert "Nothing affected" in affected(made)


def test_a_new_dependency_of_a_service_affects_it(tmp_path: Path) -> None:
    made = shop(tmp_path)
    made.write({"b/pyproject.toml": MEMBER.format(name="b", needs='six", "idna')})
    made.write(
        {"uv.lock": lock().replace('[{ name = "six" }]', '[{ name = "six" }, { name = "idna" }]')}
    )
    assert affected(made) == "b"


def test_code_of_a_workspace_member_affects_the_services_that_need_it(tmp_path: Path) -> None:
    made = shop(tmp_path)
    rows = (
        uv_package("a", 'virtual = "a"', needs=["core"]),
        uv_package("b", 'virtual = "b"'),
        uv_package("core", 'editable = "libs/core"'),
    )
    made.write(
        {
            "uv.lock": HEAD + "".join(rows),
            "a/pyproject.toml": MEMBER.format(name="a", needs="core"),
            "b/pyproject.toml": '[project]\nname = "b"\nversion = "1"\n',
            "libs/core/pyproject.toml": '[project]\nname = "core"\nversion = "1"\n',
            "libs/core/src/core/__init__.py": "",
        }
    )
    commit(made)
    # Without builds, the inputs outside of a service are unknown.
    assert made.fabric("compose", "package").code == 0
    for path in ("src/core/__init__.py", "src/core/data.json", "pyproject.toml"):
        made.write({f"libs/core/{path}": "# edited\n"})
        assert affected(made) == "a", path
        git(made, "checkout", "-q", ".")
        git(made, "clean", "-fdq")
