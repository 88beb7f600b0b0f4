"""Trees as YAML text."""

from hypothesis import given
from hypothesis import strategies as st

from fabric.config.yaml.nodes import Mapping, convert_to_plain
from fabric.config.yaml.reader import read
from fabric.importing.comments import read_comments
from fabric.importing.emit import Emitter
from fabric.scaffold.yaml_text import build_tree

LEAVES = st.integers(-9, 10_000) | st.booleans() | st.text(max_size=12) | st.none()
TREES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.text(min_size=1, max_size=6), inner, max_size=3),
    max_leaves=12,
)


@given(st.dictionaries(st.text("abcx", min_size=1, max_size=4), TREES, min_size=1, max_size=4))
def test_written_values_are_read_as_they_were(value: dict[str, object]) -> None:
    tree = build_tree(value)  # type: ignore[arg-type]
    assert isinstance(tree, Mapping)
    text = Emitter({}).format(tree)
    assert convert_to_plain(read("x", text.encode()).root) == convert_to_plain(tree)


def test_comments_stay_with_their_keys() -> None:
    source = "# head\na: 1  # one\nb:\n  # inner\n  c: 2\n"
    root = read("x", source.encode()).root
    assert isinstance(root, Mapping)
    text = Emitter(read_comments(source)).format(root)
    assert text == "# head\na: 1  # one\n\nb:\n  # inner\n  c: 2\n"


def test_a_hash_in_a_text_is_not_a_comment() -> None:
    assert read_comments("a: 'x # y'\nb: x#y\nc: \"# z\"\n") == {}


def test_functions_of_templates_have_their_short_form() -> None:
    root = read(
        "x",
        b"a: !Ref Table\nb: !GetAtt [Table, Arn]\nc: {Fn::Join: ['', [!Ref A]]}\n",
        keeps_tags=True,
    ).root
    assert isinstance(root, Mapping)
    text = Emitter({}, has_functions=True).format(root, spaced=False)
    assert "a: !Ref Table\nb: !GetAtt Table.Arn\n" in text
    again = convert_to_plain(read("x", text.encode(), keeps_tags=True).root)
    assert isinstance(again, dict)
    assert again["a"] == {"Ref": "Table"}
