"""A function as numba compiles it, by itself or as a part of others.

A function that other kernels call is not optimized, and no machine code is made of it: its
intermediate code is passed to the caller's compilation (`PartLibrary`), and optimized together with
all that the entries of a set call (`libraries.KernelLibrary`), or with the one function that Python
calls.

numba composes a compiler of passes (`pipeline_class`). The last pass, which makes machine code, is
replaced here, and passes for features that no kernel uses are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import MappingProxyType
from typing import Any, Final

from numba import _dynfunc, types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder, _LowerResult
from numba.core.compiler_machinery import register_pass
from numba.core.environment import lookup_environment
from numba.core.registry import CPUDispatcher
from numba.core.typed_passes import NativeLowering

_OPTIONS: Final = MappingProxyType({"nopython": True, "nogil": True, "no_cfunc_wrapper": True})

ENVIRONMENTS: Final = "_ZN08NumbaEnv"
"""The prefix of the names of variables that point to a function's environment."""

_LEFT_OUT: Final = frozenset(
    {
        "annotate_types",  # for reports that no caller reads
        "dump_parfor_diagnostics",
        "inline_closure_likes",  # comprehensions and functions within functions
        "literal_unroll",
        "make_function_op_code_to_jit_function",  # functions within functions, as above
        "nopython_rewrites",  # whole arrays in arithmetic, which kernels do in loops
        "nopython_supported_feature_validation",  # what type inference would refuse as well
        "with_lifting",
    }
)
"""The names of numba's passes that have nothing to do for kernels; together they take a tenth."""

_registered: Callable[[type], type] = register_pass(mutates_CFG=True, analysis_only=False)


class PartLibrary(JITCodeLibrary):  # type: ignore[misc]
    """The intermediate code of one function, not optimized, and the libraries of its callees."""

    def add_llvm_module(self, module: Any) -> None:
        """Add the code as it is."""
        self._final_module.link_in(module)

    def finalize(self) -> None:
        """Make no machine code."""
        self._finalized = True


def callers_first(libraries: Sequence[Any]) -> list[Any]:
    """Libraries and all that they need, each once and before the libraries that it needs.

    They have to be linked in this order: linking takes of a library only what is referred to.
    """
    done: dict[Any, None] = {}
    waiting = [(library, False) for library in libraries]
    while waiting:
        library, is_done = waiting.pop()
        if is_done:
            done[library] = None
        elif library not in done:
            waiting.append((library, True))
            # A library that numba itself has finalized contains what it needs.
            needed = library._linking_libraries if isinstance(library, PartLibrary) else ()
            waiting += ((it, False) for it in needed if it not in done)
    return list(done)[::-1]


def _has_array(kind: Any) -> bool:
    """True if values of a type may own memory."""
    if isinstance(kind, types.BaseTuple):
        return any(map(_has_array, kind))
    return isinstance(kind, types.Array)


@_registered
class PartLowering(NativeLowering):  # type: ignore[misc]
    """Makes the intermediate code of a part."""

    _name = "sapwood_part_lowering"

    def run_pass(self, state: Any) -> bool:
        """Make the code, and register it for callers."""
        assert state.flags.nrt or not _has_array(state.return_type), "references must be counted"
        state.flags.no_compile = True
        state.library = PartLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        super().run_pass(state)
        state.library.finalize()
        lowered = state["cr"]
        # A callable that stands for the function, and is never called.
        stand_in = _dynfunc.make_function(
            lowered.fndesc.lookup_module(), "part", "", 0, lowered.env, (state.library,)
        )
        needed = callers_first([state.library])
        state.targetctx.insert_user_function(stand_in, lowered.fndesc, needed)
        state["cr"] = _LowerResult(
            lowered.fndesc, lowered.call_helper, cfunc=stand_in, env=lowered.env
        )
        return True


@_registered
class WholeLowering(NativeLowering):  # type: ignore[misc]
    """Makes machine code of a function and its parts."""

    _name = "sapwood_whole_lowering"

    def run_pass(self, state: Any) -> bool:
        """Make the code, and set the environments of the parts in it."""
        super().run_pass(state)
        give_environments(state.library)
        return True


def give_environments(library: Any) -> list[Any]:
    """Set the environments that the code of a library refers to; returns them."""
    found: list[Any] = []
    for variable in library._final_module.global_variables:
        if variable.name.startswith(ENVIRONMENTS):
            environment = lookup_environment(variable.name)
            if environment is not None:
                library.codegen.set_env(variable.name, environment)
                found.append(environment)
    return found


def _compiler(lowering: type) -> type:
    """Numba's compiler with another last pass."""

    class Compiler(CompilerBase):  # type: ignore[misc]
        def define_pipelines(self) -> list[Any]:
            manager = DefaultPassBuilder.define_nopython_pipeline(self.state)
            manager.passes = [
                (lowering if known is NativeLowering else known, said)
                for known, said in manager.passes
                if known._name not in _LEFT_OUT
            ]
            manager._finalized = False
            manager.finalize()
            return [manager]

    return Compiler


PART_COMPILER, _WHOLE_COMPILER = _compiler(PartLowering), _compiler(WholeLowering)


def _widened(kind: Any) -> Any:
    """The type that a part is compiled for, one for all constants and sizes of integers."""
    kind = types.unliteral(kind)
    return types.int64 if isinstance(kind, types.Integer) and kind.signed else kind


class Kernel(CPUDispatcher):  # type: ignore[misc]
    """A function that kernels call as a part of them, and Python like any other.

    `library` is set by the library of which it is an entry; that library then compiles or loads all
    entries at the first call. Any other kernel is compiled by itself when Python calls it, as tests
    do.
    """

    def __init__(self, function: Callable[..., Any], *, counts: bool = True) -> None:
        options = {**_OPTIONS, "_nrt": counts}
        super().__init__(function, targetoptions=options, pipeline_class=_WHOLE_COMPILER)
        options = {**options, "no_cpython_wrapper": True}
        self._part = CPUDispatcher(function, targetoptions=options, pipeline_class=PART_COMPILER)
        self.library: Any = None

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """The template by which numba types calls in the code of a caller."""
        return self._part.get_call_template(tuple(map(_widened, args)), kws)

    def get_overload(self, sig: Any) -> Any:
        """The compiled part that the code of a caller calls."""
        return self._part.get_overload(sig)

    def _compile_for_args(self, *args: Any, **kws: Any) -> Any:
        """Make the machine code for a call; for an entry, the code of all entries."""
        if self.library is None:
            return super()._compile_for_args(*args, **kws)
        self.library.load()
        [only] = self.overloads.values()
        return only.entry_point
