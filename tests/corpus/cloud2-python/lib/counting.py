from collections import Counter


def words_of(text: str) -> dict[str, int]:
    return dict(Counter(text.lower().split()))
