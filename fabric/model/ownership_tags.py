"""Fingerprint tags of functions at their provider."""

import hmac

_LENGTH = 32


def mark_of(key: str, salt: str) -> str:
    """Compute the fingerprint of a cache key. The key covers variable values, so it must not be
    readable."""
    return hmac.new(salt.encode(), key.encode(), "sha256").hexdigest()[:_LENGTH]
