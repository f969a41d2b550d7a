"""For unit tests: how long an example takes is no reason to fail, for the machines are busy."""

from hypothesis import settings

settings.register_profile("patient", deadline=None)
settings.load_profile("patient")
