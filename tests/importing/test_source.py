"""The record of what became of each key."""

from hypothesis import given
from hypothesis import strategies as st

from fabric.importing.source import At, Fate, Ledger, find_path, list_leaves
from fabric.scaffold.yaml_text import build_tree

ROOT = build_tree({"a": {"b": 1, "c": [1, 2]}, "d": {}})


def test_a_note_counts_for_everything_below_it() -> None:
    ledger = Ledger()
    ledger.carry(At(ROOT).get("a"))
    ledger.drop(At(ROOT).get("d"), "not needed")
    assert ledger.settle(ROOT).leaves == {
        ("a", "b"): Fate.CARRIED,
        ("a", "c", "0"): Fate.CARRIED,
        ("a", "c", "1"): Fate.CARRIED,
        ("d",): Fate.DROPPED,
    }


def test_a_deeper_note_takes_precedence() -> None:
    ledger = Ledger()
    ledger.carry(At(ROOT).get("a"))
    ledger.lose(At(ROOT).get("a", "b"), "no equivalent")
    assert ledger.settle(ROOT).leaves["a", "b"] is Fate.NOT_CARRIED


def test_a_key_without_a_note_is_reported_once_as_unknown() -> None:
    ledger = Ledger()
    ledger.carry(At(ROOT).get("d"))
    [note] = ledger.settle(ROOT).select(Fate.NOT_CARRIED)
    assert (note.code, note.path) == ("import/unknown-key", ("a",))


def test_a_note_below_a_leaf_is_about_its_variable() -> None:
    root = build_tree({"a": "${self:custom.a}"})
    ledger = Ledger()
    ledger.carry(At(root).get("a"))
    ledger.lose(At(build_tree("x"), ("a", "inner")), "no equivalent")
    assert ledger.settle(root).leaves == {("a",): Fate.NOT_CARRIED}


TREES = st.recursive(
    st.integers() | st.text("ab", max_size=3),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.text("abc", min_size=1, max_size=2), inner, max_size=3),
    max_leaves=12,
)


@given(st.dictionaries(st.text("abc", min_size=1, max_size=2), TREES, max_size=4), st.data())
def test_each_leaf_has_exactly_one_result(value: dict[str, object], data: st.DataObject) -> None:
    root = build_tree(value)  # type: ignore[arg-type]
    leaves = [one for one in list_leaves(At(root)) if one.path]
    ledger = Ledger()
    for leaf in leaves:
        length = data.draw(st.integers(0, len(leaf.path)))
        at = find_path(At(root), leaf.path[:length])
        match data.draw(st.integers(0, 4)):
            case 0:
                ledger.carry(at)
            case 1:
                ledger.drop(at, "x")
            case 2:
                ledger.lose(at, "x")
            case 3:
                ledger.change(at, "x")
            case _:
                pass
    settled = ledger.settle(root)
    assert list(settled.leaves) == [one.path for one in leaves]
    assert sum(settled.count(fate) for fate in Fate) == len(leaves)


def test_a_lost_key_is_reported_once() -> None:
    ledger = Ledger()
    ledger.lose(At(ROOT).get("a"), "no equivalent")
    ledger.lose(At(ROOT).get("a"), "no value")
    assert [one.reason for one in ledger.settle(ROOT).notes if one.path == ("a",)] == [
        "no equivalent"
    ]
