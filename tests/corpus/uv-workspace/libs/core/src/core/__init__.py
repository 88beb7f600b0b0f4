def price(count: int) -> int:
    return count * 250
