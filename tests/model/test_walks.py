"""Who is reached from whom, in which order, and whether it goes in a circle."""

from collections.abc import Mapping
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from fabric.model.walks import (
    compute_depths,
    find_cycle,
    find_reachable,
    reverse_edges,
    sort_needs_first,
    with_dependents,
)

NAMES = "abcdefg"
GRAPHS = st.dictionaries(
    st.sampled_from(NAMES), st.lists(st.sampled_from(NAMES), max_size=3), max_size=7
)
NUMBERED = st.integers(0, 8).flatmap(
    lambda size: st.tuples(
        *(
            st.lists(st.integers(0, one - 1), max_size=3).map(tuple) if one else st.just(())
            for one in range(size)
        )
    )
)
Graph = Mapping[str, list[str]]


@given(GRAPHS, st.sampled_from(NAMES))
def test_reachable_set_is_closed_under_dependencies(needs: Graph, start: str) -> None:
    found = find_reachable([start], needs)
    assert start in found
    assert all(need in found for name in found for need in needs.get(name, ()))


@given(GRAPHS)
def test_turned_twice_is_as_it_was(needs: Graph) -> None:
    assert reverse_edges(reverse_edges(needs)) == {
        name: set(ups) for name, ups in needs.items() if ups
    }


@given(GRAPHS)
def test_found_cycle_is_real_and_none_is_missed(needs: Graph) -> None:
    cycle = find_cycle(needs)
    pairs = pairwise(cycle)
    assert all(following in needs[name] for name, following in pairs)
    in_circle = [name for name in needs if name in find_reachable(needs[name], needs)]
    assert bool(cycle) == bool(in_circle)


@given(GRAPHS)
def test_dependencies_are_sorted_first_if_possible(needs: Graph) -> None:
    order = list(sort_needs_first(NAMES, needs))
    assert sorted(order) == list(NAMES)
    if not find_cycle(needs):
        assert all(
            order.index(need) < order.index(name) for name, ups in needs.items() for need in ups
        )
        found = compute_depths(NAMES, needs)
        assert all(found[need] < found[name] for name, ups in needs.items() for need in ups)


@given(NUMBERED, st.sets(st.integers(0, 7)))
def test_dependents_of_dependents_are_among_them(
    needs: tuple[tuple[int, ...], ...], start: set[int]
) -> None:
    start = {one for one in start if one < len(needs)}
    found = with_dependents(
        start, lambda need: [number for number, ups in enumerate(needs) if need in ups]
    )
    assert start <= found
    for number, ups in enumerate(needs):
        assert (number in found) == (number in start or not found.isdisjoint(ups))
