"""What a function is marked with at its provider."""

import hmac

_LENGTH = 32


def mark_of(key: str, salt: str) -> str:
    """What a function that is just as this key says is marked with: a key goes over the values of
    variables, so it must not be read off there."""
    return hmac.new(salt.encode(), key.encode(), "sha256").hexdigest()[:_LENGTH]
