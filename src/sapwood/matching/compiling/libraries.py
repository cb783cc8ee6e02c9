"""The entries of a set and all functions that they call, as one library of machine code.

Every function is compiled once, whichever entries call it, and optimized together with them. The
library is kept in one file, whose name has a digest of everything that its code depends on: the
sources of the kernels, the constants that these read, numba, Python and the processor.
"""

from __future__ import annotations

import hashlib
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from types import ModuleType
from typing import Any, Final

import llvmlite
import numba
import numpy as np
from numba import types
from numba.core import config
from numba.core.caching import IndexDataCacheFile
from numba.core.compiler import Flags, compile_extra, compile_result
from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import Dispatcher
from numba.core.registry import cpu_target
from numba.extending import _Intrinsic

from sapwood.matching.compiling import kernels as machinery
from sapwood.matching.compiling import notice, places
from sapwood.matching.compiling.kernels import Kernel, callers_first, give_environments
from sapwood.matching.compiling.signatures import argument_types

_DIGEST_CHARS: Final = 20

_INDEX: Final = ".nbi"
"""numba's ending for the file that leads to the code."""

_COMPILED: Final = (Dispatcher, _Intrinsic)
"""The types of what compiled code may call."""

_CONSTANTS: Final = (bool, int, float, str, bytes, tuple, np.generic, np.ndarray)


class KernelLibrary:
    """The compiled code of the entries of one set of kernels."""

    def __init__(self, name: str, entries: tuple[Kernel, ...]) -> None:
        self.name: Final = name
        self.entries: Final = entries
        self._lock: Final = RLock()
        #: true once the code is at hand; set last, as other threads read it without the lock
        self.is_loaded = False
        #: the number of functions that were compiled, entries included, and the processor time
        self.functions = 0
        self.seconds = 0.0
        #: the file in which the code is kept; `None` if it is in none
        self.file: Path | None = None
        for entry in entries:
            entry.library = self

    def is_kept(self) -> bool:
        """True if the code is loaded or kept in a file, and need not be compiled."""
        return self.is_loaded or places.found(f"{self.file_name()}{_INDEX}") is not None

    def file_name(self) -> str:
        """The name, without an ending, of the files in which this code is kept for this machine."""
        target = cpu_target.target_context
        told = hashlib.sha256()
        for part in (
            numba.__version__, llvmlite.__version__, sys.implementation.cache_tag,
            target.codegen().magic_tuple(), int(config.OPT), config.LOOP_VECTORIZE,
        ):  # fmt: skip
            told.update(repr(part).encode())
        for module in self._modules():
            told.update(_source(module))
            told.update(repr(list(_constants(module))).encode())
        return f"{self.name}-{told.hexdigest()[:_DIGEST_CHARS]}"

    def load(self, tell: Callable[[str], None] | None = notice.tell) -> None:
        """Read all entries from the file, or compile them and keep them if that is possible.

        `tell` is called with a sentence before they are compiled.
        """
        with self._lock:
            if self.is_loaded:
                return
            name = self.file_name()
            if not self._read(name):
                if tell is not None:
                    tell(notice.compiling(self.name))
                place = places.writable_place()
                if place is None:
                    self._compile()
                else:
                    with places.claimed(place, name):
                        if not self._read(name):
                            _files(place, name).save(name, self._compile())
                            self.file = place / f"{name}{_INDEX}"
            self.is_loaded = True

    def _read(self, name: str) -> bool:
        """Read the library from a file; returns false if there is none."""
        index = places.found(f"{name}{_INDEX}")
        if index is None:
            return False
        try:
            kept = _files(index.parent, name).load(name)
        except Exception:  # noqa: BLE001 - whatever is wrong with it, it can be made again
            return False
        if kept is None:
            return False
        code, entries, environments, initial = kept
        with global_compiler_lock:
            target = cpu_target.target_context
            target.refresh()
            for begin in initial:
                begin()
            library = target.codegen().unserialize_library(code)
            self._give(library, entries)
            for environment in environments:
                library.codegen.set_env(environment.env_name, environment)
        self.file = index
        return True

    def _compile(self) -> tuple[Any, ...]:
        """Compile all entries; returns the content of the file."""
        begun = time.thread_time()
        target, typing = cpu_target.target_context, cpu_target.typing_context
        with global_compiler_lock, remembering(typing):
            target.refresh()
            typing.refresh()
            library = target.codegen().create_library(self.name)
            library.enable_object_caching()
            entries, wholes = [], []
            for entry in self.entries:
                flags = Flags()
                cpu_target.options.parse_as_flags(flags, entry.targetoptions)
                made = compile_extra(
                    typing, target, entry.py_func, argument_types(entry.py_func), None, flags, {},
                    pipeline_class=machinery.PART_COMPILER,
                )  # fmt: skip
                own = made.library
                wholes.append(own)
                # The wrapper that Python calls stays; the function itself may be inlined into it.
                module = own._final_module.clone()
                module.get_function(made.fndesc.llvm_func_name).linkage = "linkonce_odr"
                library._final_module.link_in(module)
                library._reload_init.update(own._reload_init)
                # Type maps cannot be pickled, and are not needed any more.
                made.fndesc.typemap = made.fndesc.calltypes = None
                entries.append((made.fndesc, made.environment, made.signature))
            parts = callers_first(wholes)
            for part in parts:
                if part not in wholes:
                    library.add_linking_library(part)
            library.finalize()
            self._give(library, entries)
            environments = give_environments(library)
            self.functions = len(parts)
            made_of = (
                library.serialize_using_object_code(),
                entries,
                tuple(one for one in environments if one.can_cache()),
                tuple(library._reload_init),
            )
        self.seconds = time.thread_time() - begun
        return made_of

    def _give(self, library: Any, entries: list[tuple[Any, Any, Any]]) -> None:
        """Let the entries call the code of a library."""
        target = cpu_target.target_context
        for kernel, (description, environment, signature) in zip(
            self.entries, entries, strict=True
        ):
            kernel.add_overload(
                compile_result(
                    typing_context=target.typing_context,
                    target_context=target,
                    entry_point=target.get_executable(library, description, environment),
                    environment=environment,
                    fndesc=description,
                    library=library,
                    signature=signature,
                    objectmode=False,
                    lifted=(),
                )
            )
            kernel.disable_compile()

    def _modules(self) -> list[ModuleType]:
        """The modules that the code is made of, and that make it, by name."""
        makers = (__name__, machinery.__name__, argument_types.__module__)
        found = {name: sys.modules[name] for name in makers}
        waiting = {entry.py_func.__module__ for entry in self.entries}
        while waiting:
            name = waiting.pop()
            found[name] = module = sys.modules[name]
            compiled = (it for it in vars(module).values() if isinstance(it, _COMPILED))
            waiting |= {it.__module__ for it in compiled} - found.keys()
        return [found[name] for name in sorted(found)]


@contextmanager
def remembering(typing: Any) -> Iterator[None]:
    """Cache the types of operations during a compilation, so that numba resolves each once.

    For an addition of two integers numba tries all additions that it knows, those of arrays
    included; nearly all operations have the types of an earlier one. The return types of our own
    functions are not cached here, as their compilers do that.
    """
    resolve, known = typing.resolve_function_type, dict[Any, Any]()

    def resolved(function: Any, args: Any, kws: Any) -> Any:
        if not isinstance(function, types.Function):
            return resolve(function, args, kws)
        call = (function, tuple(args), tuple(sorted(dict(kws).items())))
        signature = known.get(call)
        if signature is None:
            signature = known[call] = resolve(function, args, kws)
        return signature

    typing.resolve_function_type = resolved  # in place of the method of the class
    try:
        yield
    finally:
        del typing.resolve_function_type


def _files(place: Path, name: str) -> Any:
    """The files of numba's cache for one library in a folder, each whole or absent."""
    return IndexDataCacheFile(str(place), name, name)


def library(name: str, *entries: Any) -> KernelLibrary | None:
    """The library of `entries`; `None` where numba is set to compile nothing."""
    return None if config.DISABLE_JIT else KernelLibrary(name, entries)


def _source(module: ModuleType) -> bytes:
    """The source of a module, also of one in a zip file."""
    loader: Any = module.__loader__
    source: bytes = loader.get_data(module.__file__)
    return source


def _constants(module: ModuleType) -> Iterator[tuple[str, object]]:
    """Constants that the code of a module may read, and the fields of named tuples."""
    for name, value in sorted(vars(module).items()):
        if name.startswith("__"):
            continue
        if isinstance(value, ModuleType) and value.__name__.startswith("sapwood."):
            yield from (
                (f"{name}.{inner}", it)
                for inner, it in sorted(vars(value).items())
                if isinstance(it, int)
            )
        elif isinstance(value, _CONSTANTS):
            yield name, value.tolist() if isinstance(value, np.ndarray) else value
        elif hasattr(value, "_fields"):
            yield name, sorted(value.__annotations__.items())
