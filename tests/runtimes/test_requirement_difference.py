"""The parser of `packaging` reads requirement lines as the patterns did that it replaces."""

import re

from hypothesis import example, given, settings
from hypothesis import strategies as st

from fabric.runtimes import requirements

_PINNED = re.compile(
    r"^[A-Za-z0-9][A-Za-z0-9._-]*(\[[^\]]*\])?\s*===?\s*[^\s*;,]+(\s*[;\\].*|\s.*)?$"
)
_BARE = re.compile(r"^\s*([A-Za-z0-9][A-Za-z0-9._-]*)\s*(;[^#]*)?(#.*)?$")


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _old(text: str) -> tuple[bool, list[str], set[str]]:
    lines = requirements.list_requirement_lines(text)
    bare = [match[1] if (match := _BARE.match(line)) else "" for line in text.splitlines()]
    names = (re.match(r"[A-Za-z0-9._-]+", line) for line in lines)
    return (
        all(_PINNED.match(line) for line in lines),
        [_normal(name) for name in bare],
        {_normal(match[0]) for match in names if match},
    )


def _new(text: str) -> tuple[bool, list[str], set[str]]:
    bare = [requirements.parse_bare_name(line) for line in text.splitlines()]
    return requirements.is_pinned(text), bare, set(requirements.list_required_names(text))


_name = st.sampled_from(["a", "A.b", "typing_extensions", "Flask", "zope.interface", "x2--y"])
_extras = st.sampled_from(["", "[more]", "[a, b-c]"])
_version = st.sampled_from(["1", "1.0", "2.0rc1", "1!3.4.post1", "4.0+local.7", "8.*", "1.2.dev3"])
_operator = st.sampled_from(["==", "===", " == ", ">=", "~=", "<", "!="])
_gap = st.sampled_from(["", " ", "  "])
_one = st.builds("{}{}".format, _operator, _version).filter(
    lambda one: "*" not in one or one.strip().startswith(("==8", "== 8", "!="))
)
_specifiers = st.lists(_one, max_size=2).map(",".join)
_marker = st.sampled_from(
    ["", " ; python_version > '3.8'", "; extra == 'x'", " ; sys_platform == 'linux' or os_name=='nt'"]
)
_options = st.sampled_from(["", " --hash=sha256:00", " \\\n  --hash=sha256:00", "  # why", "  #"])
_requirement = st.builds(
    "{}{}{}{}{}{}".format, _name, _extras, _gap, _specifiers, _marker, _options
).filter(lambda line: "=" in line.partition(";")[0] or "hash" not in line)  # pip refuses it
_other = st.sampled_from(
    ["", "# only a comment", "-e .", "-r other.txt", "--index-url https://a.example/simple",
     "a @ https://a.example/a-1.0-py3-none-any.whl", "  flask  "]
)  # fmt: skip


@settings(max_examples=600)
@given(st.lists(_requirement | _other, max_size=3).map("\n".join))
@example("a==1.0 ; python_version > '3'\nb")
def test_lines_are_read_as_before(text: str) -> None:
    assert _new(text) == _old(text)
