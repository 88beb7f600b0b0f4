"""Graph walks over dependencies of names or numbers."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import TypeAlias, TypeVar

Needs: TypeAlias = Mapping[str, Iterable[str]]
N = TypeVar("N", bound=Hashable)


def find_reachable(start: Iterable[N], edges: Mapping[N, Iterable[N]]) -> frozenset[N]:
    """Find all nodes reachable from these, including themselves. Stops at a cycle."""
    found = set(start)
    waiting = list(found)
    while waiting:
        for name in edges.get(waiting.pop(), ()):
            if name not in found:
                found.add(name)
                waiting.append(name)
    return frozenset(found)


def reverse_edges(edges: Needs) -> dict[str, set[str]]:
    """Reverse the edges."""
    found: dict[str, set[str]] = {}
    for name, needs in edges.items():
        for need in needs:
            found.setdefault(need, set()).add(name)
    return found


def sort_needs_first(names: Iterable[str], needs: Needs) -> Iterator[str]:
    """Yield every name after its needs, as far as possible; otherwise in the given order."""
    entered: set[str] = set()
    given: set[str] = set()
    waiting = list(reversed(list(names)))
    known = frozenset(waiting)
    while waiting:
        name = waiting[-1]
        missing = [one for one in needs.get(name, ()) if one in known and one not in given]
        # Entered once already: what is missing still leads back to it in a circle.
        if missing and name not in entered:
            entered.add(name)
            waiting.extend(missing)
            continue
        waiting.pop()
        if name not in given:
            given.add(name)
            yield name


def compute_depths(names: Iterable[str], needs: Needs) -> dict[str, int]:
    """Compute the longest chain of names before each one. Requires no cycle."""
    found: dict[str, int] = {}
    for name in sort_needs_first(names, needs):
        found[name] = max((found[need] + 1 for need in needs.get(name, ())), default=0)
    return found


def find_cycle(needs: Needs) -> tuple[str, ...]:
    """Find a cycle, with its first name repeated at the end, or (). Iterative, so depth is
    unlimited."""
    done: set[str] = set()
    for start in needs:
        cycle = _find_cycle_from(start, needs, done)
        if cycle:
            return cycle
    return ()


def _find_cycle_from(start: str, needs: Needs, done: set[str]) -> tuple[str, ...]:
    path = [start]
    rest = [iter(needs.get(start, ()))]
    on_path = {start}
    while path:
        following = next((name for name in rest[-1] if name not in done), None)
        if following is None:
            rest.pop()
            on_path.discard(path[-1])
            done.add(path.pop())
        elif following in on_path:
            return (*path[path.index(following) :], following)
        else:
            path.append(following)
            on_path.add(following)
            rest.append(iter(needs.get(following, ())))
    return ()


def with_dependents(start: Iterable[int], dependents: Callable[[int], Iterable[int]]) -> set[int]:
    """Add all dependents of these. Dependents are queried only for reached nodes."""
    found = set(start)
    waiting = list(found)
    while waiting:
        new = [one for one in dependents(waiting.pop()) if one not in found]
        found.update(new)
        waiting += new
    return found
