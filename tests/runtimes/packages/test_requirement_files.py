"""The files that list packages: which of them counts, and what they name in turn."""

from pathlib import Path

import pytest

from fabric.model.builds.python_target import PythonTarget
from fabric.model.problems import FabricError, Problem
from fabric.runtimes.packages.requirement_files import (
    PackageFolders,
    PackageRequest,
    find_source,
    read_public_source,
)
from fabric.runtimes.packages.requirements import list_constraint_lines, list_requirement_lines
from tests.support.lock_texts import HEAD, INTEL, uv_package
from tests.support.runtimes_project import write

BROUGHT = ("boto3", "botocore")


@pytest.mark.parametrize(
    ("entry", "folder"),
    [
        ("src/api/orders.py", "shop/src"),
        ("src/api/orders.handler", "shop/src"),
        ("src.api.orders.handler", "shop/src"),
        ("jobs/daily.py", "shop"),
        ("main.py", "shop"),
        ("src/gone.handler", "shop/src"),
    ],
)
def test_the_nearest_folder_with_requirements_counts(
    entry: str, folder: str, tmp_path: Path
) -> None:
    files = ("requirements.txt", "shop/src/requirements.txt", "shop/src/api/orders.py")
    write(tmp_path, dict.fromkeys((*files, "shop/jobs/daily.py", "shop/main.py"), ""))
    assert PackageFolders(tmp_path, "shop").of(entry).folder == folder


def test_possible_requirement_file_locations_are_watched(tmp_path: Path) -> None:
    write(tmp_path, {"src/api/one.py": ""})
    found = PackageFolders(tmp_path, ".").of("src/api/one.py")
    assert found.folder == "."
    looked_at = {str(Path(path).relative_to(tmp_path.resolve())) for path in found.looked_at}
    assert {"src/api/requirements.txt", "src/requirements.txt"} <= looked_at


def test_files_that_are_named_are_read_in_their_place(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "requirements.txt": "a==1\n-r more/other.txt\n--constraint bounds.txt\nd\n",
            "more/other.txt": "b==2\n-r third.txt\n",
            "more/third.txt": "c==3",
            "bounds.txt": "# why\nd<4  # not yet\n-r more/bounds.txt\n",
            "more/bounds.txt": "e<5\n",
        },
    )
    found = read_public_source(tmp_path, ".")
    assert list_requirement_lines(found.text) == ("a==1", "b==2", "c==3", "d")
    assert list_constraint_lines(found.text) == ("d<4", "e<5")
    more = {"bounds.txt", "more/bounds.txt", "more/other.txt", "more/third.txt"}
    assert more <= set(found.seen.files)


def refused(folder: Path, files: dict[str, str]) -> Problem:
    with pytest.raises(FabricError) as caught:
        find_source(write(folder, files), ".")
    return caught.value.first


@pytest.mark.parametrize("option", ["-r", "-c", "--requirement", "--constraint"])
def test_a_file_that_is_named_and_not_there_is_an_error_with_its_place(
    option: str, tmp_path: Path
) -> None:
    found = refused(
        tmp_path,
        {"requirements.txt": "a==1\n-r sub/b.txt\n", "sub/b.txt": f"\n\n{option} gone.txt\n"},
    )
    assert found.code == "input/requirements-missing"
    assert found.where
    assert (found.where.file, found.where.line) == ("sub/b.txt", 3)
    assert "`gone.txt`" in found.message


def test_circular_requirement_files_are_an_error(tmp_path: Path) -> None:
    found = refused(tmp_path, {"requirements.txt": "-r b.txt\n", "b.txt": "-r requirements.txt\n"})
    assert found.code == "input/requirements-circle"


@pytest.mark.parametrize(
    ("line", "packed"),
    [
        ("boto3", False),
        ("Boto3  # the SDK", False),
        ("boto3; python_version > '3'", False),
        ("boto3==1.34.0", True),
        ("boto3>=1.34", True),
        ("boto3[crt]", True),
        ("requests", True),
    ],
)
def test_unpinned_provider_packages_are_not_vendored(
    line: str, tmp_path: Path, *, packed: bool
) -> None:
    write(tmp_path, {"requirements.txt": f"{line}\nidna==3.7\n"})
    lines = list_requirement_lines(
        read_public_source(tmp_path, ".", PackageRequest(brought=BROUGHT)).text
    )
    assert (len(lines) == 2) == packed
    assert len(list_requirement_lines(read_public_source(tmp_path, ".").text)) == 2


def test_only_provider_packages_means_nothing_to_vendor(tmp_path: Path) -> None:
    write(tmp_path, {"requirements.txt": "boto3\n"})
    assert find_source(tmp_path, ".", BROUGHT) is None
    assert find_source(tmp_path, ".") is not None


def test_external_lock_pins_provider_packages_too(tmp_path: Path) -> None:
    write(tmp_path, {"requirements.txt": "boto3\n", "requirements.lock": "boto3==1.34.0\n"})
    found = read_public_source(tmp_path, ".", PackageRequest(brought=BROUGHT))
    assert (found.file, list_requirement_lines(found.text)) == (
        "requirements.lock",
        ("boto3==1.34.0",),
    )
    assert found.without == ()


POETRY = """\
[tool.poetry.dependencies]
python = "^3.12"
six = "*"
kit = {git = "https://git.example/kit", rev = "main"}
"""


def test_dependencies_of_poetry_without_a_lock_are_rejected_by_name(tmp_path: Path) -> None:
    found = refused(tmp_path, {"pyproject.toml": POETRY, "requirements.txt": "# none\n"})
    assert (found.code, found.hint) == ("input/lock-missing", "run: poetry lock")
    assert found.message.endswith("without a lock: `kit`, `six`")


@pytest.mark.parametrize(
    "files",
    [
        {"requirements.txt": "six==1.0\n"},
        {"requirements.txt": "boto3\n"},
        {"requirements.lock": "six==1.0\n"},
        {"poetry.lock": ""},
        {"pyproject.toml": '[tool.poetry.dependencies]\npython = "^3.12"\n'},
    ],
)
def test_a_list_beside_dependencies_of_poetry_counts(tmp_path: Path, files: dict[str, str]) -> None:
    write(tmp_path, {"pyproject.toml": POETRY, **files})
    assert read_public_source(tmp_path, ".", PackageRequest(brought=BROUGHT)).folders == ()


def test_a_repository_in_an_included_file_is_rejected_with_its_line(tmp_path: Path) -> None:
    line = "kit @ git+https://git.example/kit@main"
    files = {"requirements.txt": "six\n-r sub/more.txt\n", "sub/more.txt": f"# more\n{line}\n"}
    found = refused(tmp_path, files)
    assert found.code == "input/package-source"
    assert str(found.where) == "sub/more.txt:2"


def test_a_project_without_a_lock_is_for_the_python_of_the_function(tmp_path: Path) -> None:
    text = '[project]\nname = "shop"\nrequires-python = ">=3.12"\ndependencies = ["six"]\n'
    write(tmp_path, {"pyproject.toml": text})
    fits = PackageRequest(target=PythonTarget("3.12", "x86_64"))
    assert read_public_source(tmp_path, ".", fits).text
    with pytest.raises(FabricError) as caught:
        read_public_source(tmp_path, ".", PackageRequest(target=PythonTarget("3.11", "x86_64")))
    assert caught.value.first.code == "input/lock-python"
    assert "for Python >=3.12, and the function runs on 3.11" in caught.value.first.message


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        ("a==1\n--no-binary :all:\n", "input/requirement-option", 2),
        ("# why\na==1 \\\n  --hash=sha256:00\nidna==\n", "input/bad-requirement", 4),
        ("a\n-e ../nowhere\n", "input/package-path", 2),
    ],
)
def test_a_line_that_cannot_be_used_is_rejected_with_its_place(
    text: str, code: str, line: int, tmp_path: Path
) -> None:
    found = refused(tmp_path, {"requirements.txt": "-r more.txt\n", "more.txt": text})
    assert found.code == code
    assert found.where
    assert (found.where.file, found.where.line) == ("more.txt", line)


def test_a_directory_that_does_not_exist_is_reported_as_such(tmp_path: Path) -> None:
    found = refused(tmp_path, {"requirements.txt": "-e ../nowhere\n"})
    assert found.message == "`-e ../nowhere` does not exist"


@pytest.mark.parametrize(
    "line",
    ["a", "a ; python_version < '4'", "a>=1,<2 \\\n --hash=sha256:00", "a @ https://x/a.whl"],
)
def test_usual_lines_are_accepted(line: str, tmp_path: Path) -> None:
    write(tmp_path, {"requirements.txt": f"{line}\n"})
    assert read_public_source(tmp_path, ".").text


def test_a_constraint_on_a_package_of_the_runtime_packs_it(tmp_path: Path) -> None:
    write(tmp_path, {"requirements.txt": "boto3\nbotocore\n-c bounds.txt\n"})
    write(tmp_path, {"bounds.txt": "Boto3==1.34.0\n"})
    found = read_public_source(tmp_path, ".", PackageRequest(brought=BROUGHT))
    assert (list_requirement_lines(found.text), found.without) == (("boto3",), ("botocore",))


DYNAMIC = '[project]\nname = "shop"\nversion = "1"\ndynamic = ["dependencies"]\n'


@pytest.mark.parametrize(
    "files",
    [
        {"pyproject.toml": DYNAMIC},
        {"requirements.txt": "./lib\n", "lib/pyproject.toml": DYNAMIC},
    ],
)
def test_dynamic_dependencies_are_rejected(files: dict[str, str], tmp_path: Path) -> None:
    found = refused(tmp_path, files)
    assert found.code == "input/dynamic"
    assert found.where
    assert found.where.file.endswith("pyproject.toml")


def test_a_list_beside_dynamic_dependencies_counts(tmp_path: Path) -> None:
    write(tmp_path, {"pyproject.toml": DYNAMIC, "requirements.txt": "idna==3.7\n"})
    assert list_requirement_lines(read_public_source(tmp_path, ".").text) == ("idna==3.7",)


MEMBER = '[project]\nname = "util"\nversion = "1"\ndependencies = ["idna"]\n'


def locked_workspace(folder: Path, member: str, project: str = 'dependencies = ["util"]') -> Path:
    rows = (
        uv_package("shop", 'virtual = "."', needs=("util",)),
        uv_package("util", 'editable = "libs/util"', needs=("idna",)),
        uv_package("idna"),
    )
    text = f'[project]\nname = "shop"\nversion = "1"\n{project}\n'
    return write(
        folder,
        {
            "uv.lock": HEAD + "".join(rows),
            "pyproject.toml": text,
            "libs/util/pyproject.toml": member,
        },
    )


def test_a_dependency_of_a_member_that_is_not_locked_is_rejected(tmp_path: Path) -> None:
    request = PackageRequest(target=INTEL)
    found = read_public_source(locked_workspace(tmp_path, MEMBER), ".", request)
    assert "libs/util/pyproject.toml" in found.seen.files
    locked_workspace(tmp_path, MEMBER.replace('["idna"]', '["idna", "toml"]'))
    with pytest.raises(FabricError, match="the dependencies of `util`: toml") as caught:
        read_public_source(tmp_path, ".", request)
    assert caught.value.first.code == "input/lock-outdated"


@pytest.mark.parametrize("extra", ["", "fast"])
def test_an_extra_of_a_member_counts_if_the_project_asks_for_it(extra: str, tmp_path: Path) -> None:
    extras = '[project.optional-dependencies]\nfast = ["toml"]\n'
    asked = f'dependencies = ["util[{extra}]"]' if extra else 'dependencies = ["util"]'
    locked_workspace(tmp_path, MEMBER + extras, asked)
    request = PackageRequest(target=INTEL)
    if extra:
        with pytest.raises(FabricError, match="toml"):
            read_public_source(tmp_path, ".", request)
    else:
        assert read_public_source(tmp_path, ".", request).folders == (("util", "libs/util"),)


def test_a_package_outside_the_workspace_is_rejected_with_its_line(tmp_path: Path) -> None:
    row = uv_package("lib", 'editable = "../lib"')
    files = {
        "uv.lock": HEAD + uv_package("shop", 'virtual = "."', needs=("lib",)) + row,
        "pyproject.toml": '[project]\nname = "shop"\nversion = "1"\n',
    }
    write(tmp_path / "shop", files)
    with pytest.raises(FabricError, match="outside the workspace") as caught:
        read_public_source(tmp_path / "shop", ".", PackageRequest(target=INTEL))
    assert caught.value.first.where
    lines = files["uv.lock"].splitlines()
    assert lines[caught.value.first.where.line - 1] == 'name = "lib"'
    assert "fabric.compose.yml" in caught.value.first.hint
