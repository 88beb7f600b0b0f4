"""What holds for all tests."""

from hypothesis import settings

# No test says how quick a machine is.
settings.register_profile("fabric", deadline=None)
settings.load_profile("fabric")
