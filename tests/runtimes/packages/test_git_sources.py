"""Lines of requirements with git repositories."""

import pytest

from fabric.model.problems import Place
from fabric.runtimes.packages.git_sources import (
    build_git_source,
    find_git_problem,
    find_login,
    parse_git_line,
)

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (f"Kit @ git+https://git.example/x@{COMMIT}", f"kit @ git+https://git.example/x@{COMMIT}"),
        (
            f'kit[b, a] @ git+https://git.example/x.git@{COMMIT}#subdirectory=lib ; os_name == "x"',
            f'kit[a,b] @ git+https://git.example/x.git@{COMMIT}#subdirectory=lib ; os_name == "x"',
        ),
        (
            f"-e git+https://git.example/x@{COMMIT}#egg=kit&subdirectory=lib",
            f"kit @ git+https://git.example/x@{COMMIT}#subdirectory=lib",
        ),
        (
            f"git+ssh://git@git.example/x@{COMMIT}#egg=kit",
            f"kit @ git+ssh://git.example/x@{COMMIT}",
        ),
        (
            f"kit @ git+https://user:p%40ss@git.example/x@{COMMIT}",
            f"kit @ git+https://git.example/x@{COMMIT}",
        ),
        (
            f"kit @ git+https://[REDACTED]@git.example/x@{COMMIT}",
            f"kit @ git+https://git.example/x@{COMMIT}",
        ),
    ],
)
def test_lines_of_one_package_are_equal_without_login(line: str, expected: str) -> None:
    source = parse_git_line(line)
    assert source is not None
    assert source.line == expected
    assert find_git_problem(source, line, Place("requirements.txt")) is None


@pytest.mark.parametrize(
    "line", ["six==1.0", "kit @ https://x/y.whl", f"kit @ hg+https://x@{COMMIT}"]
)
def test_other_lines_are_not_repositories(line: str) -> None:
    assert parse_git_line(line) is None


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("kit @ git+https://git.example/x@main", "is not pinned to a commit"),
        ("kit @ git+https://user:secret@git.example/x", "is not pinned to a commit"),
        (f"kit @ git+https://git.example/x@{COMMIT[:7]}", "is not pinned to a commit"),
        (f"git+https://git.example/x@{COMMIT}", "has no package name"),
        (f"kit @ git+http://git.example/x@{COMMIT}", "unsupported URL"),
        (f"kit @ git+ext::sh@{COMMIT}", "unsupported URL"),
        (f"kit @ git+--upload-pack=x@{COMMIT}", "unsupported URL"),
        (f"kit @ git+ssh://-oProxyCommand=x/y@{COMMIT}", "unsupported URL"),
        (f"kit @ git+file://x/y@{COMMIT}", "unsupported URL"),
        (f"kit @ git+https://${{HOST}}/x@{COMMIT}", "unsupported URL"),
        (f"kit @ git+https://git.example/x@{COMMIT}#subdirectory=../y", "outside the repository"),
        (f"kit @ git+https://git.example/x@{COMMIT}#subdirectory=a%0Asix", "invalid subdirectory"),
    ],
)
def test_a_line_that_cannot_be_built_is_rejected(line: str, message: str) -> None:
    source = parse_git_line(line)
    assert source is not None
    problem = find_git_problem(source, line, Place("requirements.txt"))
    assert problem is not None
    assert message in problem.message
    assert problem.hint
    assert "secret" not in problem.message


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("kit @ git+ssh://git@git.example/x@main", "ls-remote ssh://git@git.example/x"),
        ("kit @ git+https://user:secret@git.example/x", "ls-remote https://git.example/x"),
        (f"kit @ git+git@git.example:me/x.git@{COMMIT}", "git+ssh://git@HOST/PATH@COMMIT"),
    ],
)
def test_the_hint_has_a_usable_url(line: str, hint: str) -> None:
    source = parse_git_line(line)
    assert source is not None
    problem = find_git_problem(source, line, Place("requirements.txt"))
    assert problem is not None
    assert problem.hint.endswith(hint)


def test_a_url_in_the_form_of_ssh_is_read() -> None:
    source = build_git_source("kit", "git@git.example:me/x.git", COMMIT)
    assert source.url == "ssh://git.example/me/x.git"
    assert find_login(source, ["", 'url = "git@git.example:me/x.git"']) == "git"


@pytest.mark.parametrize(
    ("text", "login"),
    [
        ("kit @ git+https://user:pass@git.example/x@1", "user:pass"),
        ("kit @ git+https://${TOKEN}@git.example/x@1", "${TOKEN}"),
        ("kit @ git+https://user:pass@other.example/x@1", ""),
        ("kit @ git+https://git.example/x@1", ""),
        ("extra @ git+https://user:pass@git.example/x-extra@1", ""),
        ("extra @ git+https://user:pass@git.example/x/extra@1", ""),
        ('{ git = "https://user:pass@git.example/x.git?rev=main#1" }', "user:pass"),
        ("kit @ git+https://user:pass@git.example/x", "user:pass"),
    ],
)
def test_the_login_is_that_of_the_same_url(text: str, login: str) -> None:
    source = build_git_source("kit", "https://git.example/x", COMMIT)
    assert find_login(source, [text]) == login
