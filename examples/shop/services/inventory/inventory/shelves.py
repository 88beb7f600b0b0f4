"""How many of each product are on the shelves."""

_SHELVES = {"tea": 40, "mug": 12, "pot": 3}


def count(product: str) -> int:
    return _SHELVES.get(product, 0)


def take(product: str, quantity: int) -> bool:
    if count(product) < quantity:
        return False
    _SHELVES[product] -= quantity
    return True
