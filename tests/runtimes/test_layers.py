"""The files of layers: directories, outputs of commands, and packages of a lock."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from fabric.model.problems import FabricError
from fabric.model.task_inputs import LayerArchiveInputs
from fabric.runtimes.archive import PackedFile, pack_file
from fabric.runtimes.contract import Built, BuiltFile
from fabric.runtimes.layers import (
    collect_layer_files,
    record_layer_inputs,
    select_python_packages,
)
from tests.support.bundler_cache import ENVIRONMENT
from tests.support.runtimes_project import write

BASE = LayerArchiveInputs("shop", "x", "api", "cloud1-lambda")


def collect(workspace: Path, inputs: LayerArchiveInputs, said: list[str] | None = None) -> Built:
    return collect_layer_files(workspace, inputs, ENVIRONMENT, (said or []).append)


def names(built: Built) -> list[str]:
    return [one.path for one in built.files]


def failure(workspace: Path, inputs: LayerArchiveInputs) -> str:
    with pytest.raises(FabricError) as caught:
        collect(workspace, inputs)
    return f"{caught.value.first.code}: {caught.value.first.message}"


def test_a_directory_is_copied_with_its_packages_and_modes(tmp_path: Path) -> None:
    write(
        tmp_path, {"tools/bin/run": "x", "tools/nodejs/node_modules/a/i.js": "", "tools/.env": ""}
    )
    (tmp_path / "tools/bin/run").chmod(0o755)
    (tmp_path / "api").mkdir()
    built = collect(tmp_path, replace(BASE, path="../tools"))
    assert names(built) == ["bin/run", "nodejs/node_modules/a/i.js"]
    assert [one.executable for one in built.files] == [True, False]


def test_a_new_file_of_a_directory_is_a_new_input(tmp_path: Path) -> None:
    write(tmp_path, {"api/tools/a": "1"})
    inputs = replace(BASE, path="tools")
    seen = record_layer_inputs(tmp_path, inputs)
    assert "api/tools/a" in seen.files
    write(tmp_path, {"api/tools/b": "1"})
    assert record_layer_inputs(tmp_path, inputs).listings != seen.listings


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("none", "layer/no-files: layer `x`: the directory `none` has no files"),
        ("../../x", "layer/path: layer `x`: the path `../../x` is not in the workspace"),
    ],
)
def test_a_directory_without_files_or_outside_is_rejected(
    path: str, message: str, tmp_path: Path
) -> None:
    (tmp_path / "api").mkdir()
    assert failure(tmp_path, replace(BASE, path=path)) == message


def test_a_link_out_of_the_workspace_is_rejected(tmp_path: Path) -> None:
    write(tmp_path, {"w/api/tools/a": "1", "secret": "s"})
    (tmp_path / "w/api/tools/b").symlink_to(tmp_path / "secret")
    assert failure(tmp_path / "w", replace(BASE, path="tools")).startswith("build/include-outside")


def script(text: str) -> LayerArchiveInputs:
    return replace(BASE, command=("sh", "-c", text), inputs=("src/**",))


def test_a_command_writes_the_files_of_the_layer(tmp_path: Path) -> None:
    write(tmp_path, {"api/src/a": "one", "api/other": ""})
    said: list[str] = [""]
    built = collect(tmp_path, script('echo built; cp src/a "$FABRIC_OUT_DIR/b"'), said)
    assert [(one.path, one.content) for one in built.files] == [("b", b"one")]
    assert "api/src/a" in built.seen.files
    assert "api/other" not in built.seen.files


def test_outputs_select_files_of_the_command(tmp_path: Path) -> None:
    write(tmp_path, {"api/src/a": ""})
    inputs = script('cd "$FABRIC_OUT_DIR"; mkdir bin; echo 1 > bin/x; echo 2 > log')
    assert names(collect(tmp_path, replace(inputs, outputs=("bin/**",)))) == ["bin/x"]
    assert "writes no" not in failure(tmp_path, replace(inputs, outputs=("lib/**",)))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("true", "layer/no-files: layer `x`: the command wrote no file to FABRIC_OUT_DIR"),
        (
            "exit 3",
            "step/failed: layer `x` of `shop`: the command `sh -c 'exit 3'` exited with code 3",
        ),
    ],
)
def test_a_command_that_fails_or_writes_nothing_is_rejected(
    text: str, message: str, tmp_path: Path
) -> None:
    (tmp_path / "api").mkdir()
    assert failure(tmp_path, script(text)) == message


def test_a_command_is_not_run_to_record_its_inputs(tmp_path: Path) -> None:
    write(tmp_path, {"api/src/a": ""})
    assert record_layer_inputs(tmp_path, script("touch ran")).files == ("api/src/a",)
    assert not (tmp_path / "api/ran").exists()


def wheel(name: str, *requires: str) -> tuple[PackedFile, ...]:
    needs = "".join(f"Requires-Dist: {one}\n" for one in requires)
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n{needs}".encode()
    files = {f"{name}.py": b"x", f"{name}-1.dist-info/METADATA": metadata}
    return tuple(pack_file(BuiltFile(path, content)) for path, content in files.items())


WHEELS = (
    wheel("numpy", "deep_er>=1", "windows_only; sys_platform == 'win32'", "fast; extra == 'fast'"),
    wheel("deep-er"),
    wheel("fast"),
    wheel("other"),
)


def selected(*packages: str) -> set[str]:
    inputs = replace(BASE, packages=packages, runtime="python3.12")
    return {one.path for one in select_python_packages(inputs, WHEELS) if one.path.endswith(".py")}


def test_packages_are_selected_with_their_dependencies_for_the_target() -> None:
    assert selected("NumPy") == {"python/numpy.py", "python/deep-er.py"}
    assert selected("numpy[fast]", "other") == {
        *("python/numpy.py", "python/deep-er.py", "python/fast.py", "python/other.py")
    }


def test_a_package_that_the_lock_lacks_is_rejected() -> None:
    with pytest.raises(FabricError, match="the requirements of its functions do not contain `no`"):
        selected("no", "numpy")
