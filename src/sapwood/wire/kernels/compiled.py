"""The kernels of frames that others call."""

from sapwood.wire.kernels.composing import compose_deliveries, compose_forwards
from sapwood.wire.kernels.finding import find_run

__all__ = ["compose_deliveries", "compose_forwards", "find_run"]
