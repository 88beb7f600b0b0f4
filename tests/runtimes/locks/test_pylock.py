"""pylock.toml (PEP 751): the rows whose markers hold on the target."""

import pytest

from fabric.model.problems import FabricError
from tests.support.lock_texts import ARM, INTEL, OLD, digest_of, read, versions


def package(name: str, version: str = "1.0", rest: str = "") -> str:
    file = f"{name}-{version}-py3-none-any.whl"
    wheel = (
        f'{{ url = "https://files.example/{file}", hashes = {{ sha256 = "{digest_of(file)}" }} }}'
    )
    return f'[[packages]]\nname = "{name}"\nversion = "{version}"\n{rest}wheels = [{wheel}]\n'


LOCK = 'lock-version = "1.0"\nrequires-python = ">=3.11"\ndefault-groups = ["main"]\n' + "".join(
    (
        package("app"),
        package("arm", rest="marker = \"platform_machine == 'aarch64'\"\n"),
        package("fast", rest="marker = \"'fast' in extras\"\n"),
        package("main", rest="marker = \"'main' in dependency_groups\"\n"),
        package("tool", rest="marker = \"'dev' in dependency_groups\"\n"),
        package("solo", rest="marker = \"python_full_version < '3.12'\"\n"),
        package("solo", "2.0", rest="marker = \"python_full_version >= '3.12'\"\n"),
        '[[packages]]\nname = "core"\ndirectory = { path = "libs/core", editable = true }\n',
        '[[packages]]\nname = "api"\ndirectory = { path = "." }\n',
    )
)


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        (INTEL, {"app": "1.0", "main": "1.0", "solo": "2.0"}),
        (ARM, {"app": "1.0", "arm": "1.0", "main": "1.0", "solo": "2.0"}),
        (OLD, {"app": "1.0", "main": "1.0", "solo": "1.0"}),
    ],
    ids=lambda one: getattr(one, "title", None),
)
def test_rows_are_read_for_the_target_without_extras(
    target: object, expected: dict[str, str]
) -> None:
    found = read(LOCK, target, name="pylock.toml")  # type: ignore[arg-type]
    assert versions(found) == expected
    assert found is not None
    assert found.folders == (("core", "libs/core"),)


@pytest.mark.parametrize(
    ("source", "origin"),
    [
        ('vcs = { type = "git", url = "https://git.example/x" }', "a git repository"),
        ('archive = { url = "https://files.example/x.zip" }', "a file"),
    ],
)
def test_sources_that_are_not_read_are_refused(source: str, origin: str) -> None:
    row = f'lock-version = "1.0"\n[[packages]]\nname = "x"\n{source}\n'
    with pytest.raises(FabricError) as caught:
        read(row, name="pylock.toml")
    assert caught.value.first.code == "input/package-source"
    assert origin in caught.value.first.message


@pytest.mark.parametrize("text", ["", 'lock-version = "2.0"\n'])
def test_other_versions_of_the_format_are_refused(text: str) -> None:
    with pytest.raises(FabricError) as caught:
        read(text, name="pylock.toml")
    assert caught.value.first.code == "input/bad-lock"


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ("environments = [\"sys_platform == 'win32'\"]\n", "input/bad-lock"),
        ("environments = [\"sys_platform == 'linux'\"]\n", ""),
        (package("late", rest='requires-python = ">=3.13"\n'), "input/lock-python"),
        (package("odd", rest="marker = \"sys_platform ~= 'linux'\"\n"), "input/bad-lock"),
    ],
)
def test_a_lock_for_other_environments_is_refused(change: str, code: str) -> None:
    before, start, rest = LOCK.partition("[[packages]]")
    text = before + change + start + rest if "environments" in change else LOCK + change
    if not code:
        assert versions(read(text, name="pylock.toml"))["app"] == "1.0"
        return
    with pytest.raises(FabricError) as caught:
        read(text, name="pylock.toml")
    assert caught.value.first.code == code


def test_a_row_needs_no_version_beside_its_wheel() -> None:
    text = LOCK + package("more").replace('version = "1.0"\n', "")
    assert versions(read(text, name="pylock.toml"))["more"] == "1.0"
