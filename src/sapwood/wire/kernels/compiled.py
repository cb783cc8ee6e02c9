"""The exported kernels of frames, compiled by numba."""

from __future__ import annotations

from typing import Final

from sapwood.matching.compiling.libraries import library
from sapwood.wire.kernels.composing import (
    compose_client,
    compose_deliveries,
    compose_forwards,
)
from sapwood.wire.kernels.finding import find_run

__all__ = ["compose_client", "compose_deliveries", "compose_forwards", "find_run"]

LIBRARY: Final = library("frames", compose_client, compose_deliveries, compose_forwards, find_run)
