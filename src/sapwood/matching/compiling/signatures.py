"""The types of a kernel's arguments as numba names them, from its annotations.

An entry is compiled for exactly one signature, before it is called. `npt.NDArray[np.uint32]` is an
array of one dimension whose elements lie side by side; `TwoDimensional[...]` one of two, and
`ReadOnly[...]` one that may lie in a file. A `NamedTuple` is a tuple of the types of its fields.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Annotated, Any, Final, get_args, get_origin, get_type_hints

import numpy as np
from numba import from_dtype, types

from sapwood.matching.arrays import READ_ONLY, TWO_DIMENSIONAL

_SCALARS: Final[Mapping[Any, Any]] = MappingProxyType(
    {
        int: types.int64,
        bool: types.boolean,
        float: types.float64,
        bytes: types.Bytes(types.uint8, 1, "C", readonly=True),
    }
)


def argument_types(function: Callable[..., Any]) -> tuple[Any, ...]:
    """The types of a function's arguments."""
    hints = get_type_hints(function, include_extras=True)
    return tuple(type_of(hint) for name, hint in hints.items() if name != "return")


def type_of(hint: Any) -> Any:
    """The type that an annotation stands for."""
    marks: tuple[object, ...] = ()
    if get_origin(hint) is Annotated:
        hint, *others = get_args(hint)
        marks = tuple(others)
    if hint in _SCALARS:
        return _SCALARS[hint]
    if get_origin(hint) is np.ndarray:
        [kind] = get_args(get_args(hint)[1])
        dimensions = 2 if TWO_DIMENSIONAL in marks else 1
        return types.Array(from_dtype(np.dtype(kind)), dimensions, "C", READ_ONLY in marks)
    if get_origin(hint) is tuple:
        return types.BaseTuple.from_types([type_of(one) for one in get_args(hint)])
    if isinstance(hint, type) and issubclass(hint, np.generic):
        return from_dtype(np.dtype(hint))
    assert hasattr(hint, "_fields"), f"kernels take no {hint}"
    fields = get_type_hints(hint, include_extras=True)
    return types.BaseTuple.from_types([type_of(fields[name]) for name in hint._fields], hint)
