"""Compiled kernels: the sets of them, the check that a set is at hand, and the loaders.

Compiling takes 1 to 10 seconds of processor time a set where no compiled code is kept, and loading
what was compiled before half a second, nearly all of it the import of numba. Plain Python needs
neither, and on small sets and few publications it is done before. So code that has a plain twin
begins with that and counts the work that compiled kernels would have spared (`Awaiting`), and a
*loader*, to which this work is reported, decides whether, when and on which thread they are loaded.
Once they are at hand all code uses them, and no result changes.

A library, `sapwood match` and `sapwood simulate` load in place, when plain Python has cost about as
much as loading will (`InPlace`): so no program ever takes more than twice the time that foresight
would have cost it. A broker, which must not stand still, loads in a thread
(`sapwood.broker.kernels`), and begins as soon as it is subscribed to, if that takes no compiling
(`Awaiting.expect`). A shell chooses its loader by `loading`; the context carries it, since routers,
links and indexes in between have no use for it.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Final, Protocol

from sapwood.matching.compiling.notice import compiling, tell

if TYPE_CHECKING:
    from sapwood.matching.compiling.libraries import KernelLibrary

LOAD_AFTER: Final = 1_000_000
"""Work for plain Python, in about microseconds, after which loading kernels from the cache pays:
the time that this takes, numba's import included."""

COMPILE_AFTER: Final = 8_000_000
"""The same where no cache has the kernels: the time that compiling them takes."""

CHECKED: Final = 500
"""Work between two checks that the kernels are at hand."""

REPORTED: Final = 50_000
"""Work that one engine gathers before it reports it to its loader: a twentieth of a second."""


@dataclass(frozen=True, slots=True)
class KernelSet:
    """The compiled kernels of one engine.

    `module` names the module of the compiled kernels, beside which there is a `plain` one; the
    engine calls the entries of its `LIBRARY`.
    """

    name: str
    module: str

    @property
    def compiled(self) -> ModuleType | None:
        """The module of compiled kernels if all of them are at hand in this process.

        This check imports nothing and takes about a microsecond. Where numba is set to compile
        nothing, kernels are plain code and always at hand.
        """
        # A package has a module as an attribute when the import of that has ended.
        package, _, name = self.module.rpartition(".")
        module: ModuleType | None = getattr(import_module(package), name, None)
        if module is None or not (module.LIBRARY is None or module.LIBRARY.is_loaded):
            return None
        return module

    def library(self) -> KernelLibrary | None:
        """The library of the kernels; imports numba. `None` where that compiles nothing."""
        library: KernelLibrary | None = import_module(self.module).LIBRARY
        return library

    def is_cached(self) -> bool:
        """True if all kernels have been compiled for this machine, and kept; imports numba."""
        library = self.library()
        return library is None or library.is_kept()

    def load(self) -> None:
        """Load the kept kernels, or compile them; all are at hand when this returns."""
        library = self.library()
        if library is not None:
            library.load(tell=None)


class Loader(Protocol):
    """The policy that decides when compiled kernels are loaded."""

    def worked(self, kernels: KernelSet, work: int) -> None:
        """Register `work` of plain Python, about microseconds, that `kernels` would have spared."""

    def expected(self, kernels: KernelSet) -> None:
        """Register that there will be work for `kernels`, sooner or later."""


class InPlace:
    """Loads kernels in the thread that needs them, as soon as that has paid.

    `tell` is called with a sentence before kernels are compiled, which takes long.
    """

    def __init__(
        self,
        tell: Callable[[str], None],
        load_after: int = LOAD_AFTER,
        compile_after: int = COMPILE_AFTER,
    ) -> None:
        self._tell = tell
        self._load_after = load_after
        self._compile_after = compile_after
        #: name of a set -> the work that plain Python has done in its place
        self._worked: dict[str, int] = {}
        #: names of sets that were not in the cache when it was looked into
        self._uncached: set[str] = set()

    def expected(self, kernels: KernelSet) -> None:
        """Do nothing: it may never pay."""

    def worked(self, kernels: KernelSet, work: int) -> None:
        """Load the kernels if the work by now has cost as much as loading will."""
        done = self._worked[kernels.name] = self._worked.get(kernels.name, 0) + work
        if done < self._load_after:
            return
        if kernels.name not in self._uncached:
            if kernels.is_cached():
                kernels.load()
                return
            self._uncached.add(kernels.name)
        if done >= self._compile_after:
            self._tell(compiling(kernels.name))
            kernels.load()


_BY_DEFAULT: Final = InPlace(tell)
"""One for the whole process, as kernels are."""

_LOADER: Final[ContextVar[Loader]] = ContextVar("sapwood_loader", default=_BY_DEFAULT)


class Loading:
    """Lets a loader decide for all that happens inside; entered for each batch of a broker."""

    __slots__ = ("_loader", "_token")

    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def __enter__(self) -> None:
        self._token = _LOADER.set(self._loader)

    def __exit__(self, *error: object) -> None:
        _LOADER.reset(self._token)


def loading(loader: Loader) -> Loading:
    """Let `loader` decide for all that happens inside."""
    return Loading(loader)


class Awaiting:
    """An account of the work that one engine has done without its compiled kernels.

    The work is reported to `loader`, or else to the loader of the context. Whether the kernels are
    at hand is checked after every `every` of work: a check takes some microseconds, about as long
    as a match in a small set.
    """

    __slots__ = ("_every", "_is_expected", "_kernels", "_loader", "_unchecked", "_unreported")

    def __init__(
        self, kernels: KernelSet, loader: Loader | None = None, every: int = CHECKED
    ) -> None:
        self._kernels = kernels
        self._loader = loader
        self._every = every
        #: true once the loader knows that there will be work
        self._is_expected = False
        #: work since the last check that kernels are at hand
        self._unchecked = 0
        #: work that has not been reported to the loader
        self._unreported = 0

    def at_hand(self) -> ModuleType | None:
        """The compiled kernels if they are at hand."""
        return self._kernels.compiled

    def expect(self) -> None:
        """Report that there will be work, once, when the first filter or publication comes."""
        if not self._is_expected:
            self._is_expected = True
            (self._loader or _LOADER.get()).expected(self._kernels)

    def compiled(self, work: int) -> ModuleType | None:
        """The compiled kernels if they are at hand, checked after enough work of plain Python.

        Several threads may call this; the work that two of them report at the same time may count
        once.
        """
        self._unchecked += work
        if self._unchecked < self._every:
            return None
        self._unreported += self._unchecked
        self._unchecked = 0
        module = self._kernels.compiled
        if module is not None or self._unreported < REPORTED:
            return module
        reported, self._unreported = self._unreported, 0
        (self._loader or _LOADER.get()).worked(self._kernels, reported)
        return self._kernels.compiled


RECORDS: Final = KernelSet("records", "sapwood.matching.columnar.kernels.compiled")

DOCUMENTS: Final = KernelSet("documents", "sapwood.matching.automaton.kernels.compiled")
