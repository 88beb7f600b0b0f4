"""The user's own command in place of a provider."""
