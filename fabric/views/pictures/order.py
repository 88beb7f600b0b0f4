"""The order of services in diagrams: dependent ones close together, deterministic."""

from collections.abc import Mapping, Sequence

_SWEEPS = 12

Links = Mapping[str, Mapping[str, int]]


def sort_services(names: Sequence[str], pairs: Sequence[tuple[str, str]]) -> list[str]:
    """Sort the services for short links: by averaging, keeping the best round, then by swaps."""
    links = _map_links(names, pairs)
    order = _walk(sorted(names), links)
    best, least = order, _measure_length(order, links)
    for _ in range(_SWEEPS):
        order = _sort_by_average(order, links)
        if (length := _measure_length(order, links)) < least:
            best, least = order, length
    return _swap_neighbors(best, links)


def _map_links(names: Sequence[str], pairs: Sequence[tuple[str, str]]) -> Links:
    links: dict[str, dict[str, int]] = {name: {} for name in names}
    for one, other in pairs:
        if one != other:
            links[one][other] = links[one].get(other, 0) + 1
            links[other][one] = links[other].get(one, 0) + 1
    return links


def _walk(names: Sequence[str], links: Links) -> list[str]:
    """Traverse depth first from the first name, so that connected services stay together."""
    found: dict[str, None] = {}
    for root in names:
        waiting = [root]
        while waiting:
            name = waiting.pop()
            if name not in found:
                found[name] = None
                waiting.extend(sorted(links[name], reverse=True))
    return list(found)


def _measure_length(order: Sequence[str], links: Links) -> int:
    place = {name: position for position, name in enumerate(order)}
    return sum(
        count * abs(place[one] - place[other])
        for one, others in links.items()
        for other, count in others.items()
    )


def _sort_by_average(order: Sequence[str], links: Links) -> list[str]:
    place = {name: position for position, name in enumerate(order)}

    def compute_middle(name: str) -> tuple[float, int]:
        total = sum(place[other] * count for other, count in links[name].items()) + place[name]
        return total / (sum(links[name].values()) + 1), place[name]

    return sorted(order, key=compute_middle)


def _swap_neighbors(order: Sequence[str], links: Links) -> list[str]:
    result = list(order)
    place = {name: position for position, name in enumerate(result)}
    for _ in range(_SWEEPS):
        moved = False
        for left in range(len(result) - 1):
            if _compute_gain(result[left], result[left + 1], links, place) > 0:
                result[left], result[left + 1] = result[left + 1], result[left]
                place[result[left]], place[result[left + 1]] = left, left + 1
                moved = True
        if not moved:
            break
    return result


def _compute_gain(upper: str, lower: str, links: Links, place: Mapping[str, int]) -> int:
    """How much shorter the links get when two neighbours change places."""
    line = place[upper]
    down = sum(c if place[o] > line else -c for o, c in links[upper].items() if o != lower)
    up = sum(c if place[o] <= line else -c for o, c in links[lower].items() if o != upper)
    return down + up
