"""The kernels of lookup reuse that other modules call, compiled by numba."""

from __future__ import annotations

from typing import Final

from sapwood.matching.compiling.libraries import library
from sapwood.routing.forwarding.reuse.kernels.keys import (
    change,
    find,
    pass_on,
    put_in,
    read_keys,
    write_keys,
)

__all__ = ["change", "find", "pass_on", "put_in", "read_keys", "write_keys"]

LIBRARY: Final = library("keys", change, find, pass_on, put_in, read_keys, write_keys)
