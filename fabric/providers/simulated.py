"""A provider that touches nothing: it answers what the real one would be called."""
