"""Whatever a test starts must be gone when it ends."""

from tests.broker.conftest import nothing_is_left

__all__ = ("nothing_is_left",)
