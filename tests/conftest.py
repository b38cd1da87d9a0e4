"""Settings all tests share."""

import os

from hypothesis import settings

# A busy machine must not fail a property for being slow.
settings.register_profile("cernis", deadline=None, derandomize=True)
settings.load_profile("cernis")

# Commands run in this process unless a test is about Spark, which takes seconds to start.
os.environ.setdefault("CERNIS_ENGINE", "local")
