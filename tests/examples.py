"""How many examples a property test takes where the profile's number is not the right one."""

from __future__ import annotations

from hypothesis import settings

FUZZED = 2000
"""As many as the profile of `make fuzz` has, for tests with numbers of their own as well."""


def examples(gate: int) -> int:
    """So many in the gate, and as many as everywhere under `make fuzz`."""
    return FUZZED if settings.get_current_profile_name() == "fuzz" else gate
