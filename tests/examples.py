"""Numbers of examples of property tests, where the profile's number is not the right one."""

from __future__ import annotations

from typing import Final

from hypothesis import settings

FULL: Final = 60
"""The examples of a property test that names no number, in `make long`: as many as found the bugs
that were planted while its law was written, with room."""

SHARE: Final = 12
"""The gate draws one in so many: the first ones, the same in every run."""

FEW: Final = 3
"""Of a number that is small already, the gate takes as many as this."""

FUZZED: Final = 2000
"""As many as the profile of `make fuzz` has, for tests with numbers of their own as well."""


def examples(full: int, fuzzed: int = FUZZED) -> int:
    """So many in `make long`, fewer in the gate, and `fuzzed` under `make fuzz`."""
    profile = settings.get_current_profile_name()
    if profile == "fuzz":
        return fuzzed
    return full if profile == "full" else max(min(full, FEW), full // SHARE)
