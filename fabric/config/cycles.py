"""A way around in a circle among named things, if there is one."""

from collections.abc import Iterable, Mapping


def find_cycle(needs: Mapping[str, Iterable[str]]) -> tuple[str, ...]:
    """A circle with its first name again at the end, or (); no recursion, so depth is no limit."""
    done: set[str] = set()
    for start in needs:
        cycle = _cycle_from(start, needs, done)
        if cycle:
            return cycle
    return ()


def _cycle_from(start: str, needs: Mapping[str, Iterable[str]], done: set[str]) -> tuple[str, ...]:
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
