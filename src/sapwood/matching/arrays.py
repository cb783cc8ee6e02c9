"""Marks on the annotations of arrays that kernels take as arguments; see `compiling.signatures`."""

from __future__ import annotations

from typing import Annotated, Final, TypeVar

Array = TypeVar("Array")

READ_ONLY: Final = "read only"
TWO_DIMENSIONAL: Final = "two dimensions"

ReadOnly = Annotated[Array, READ_ONLY]
"""An array that is never written; it may be mapped from a file."""

TwoDimensional = Annotated[Array, TWO_DIMENSIONAL]
"""An array of rows."""
