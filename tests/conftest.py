"""Settings all tests share."""

from hypothesis import settings

# A busy machine must not fail a property for being slow.
settings.register_profile("cernis", deadline=None)
settings.load_profile("cernis")
