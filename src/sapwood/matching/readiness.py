"""Compiled kernels: which sets there are, whether this process has them at hand, who loads them.

Compiling takes 1 to 10 seconds of processor time a set where nothing is kept, and loading what was
compiled before half a second, nearly all of it the import of numba. Plain Python needs neither, and
on small sets and few publications it is done before. So whoever has a plain twin begins with that
and keeps account of what compiled kernels would have spared (`Awaiting`), and a *loader* hears of
it and decides whether, when and on which thread they are loaded. Once they are at hand everybody
takes them, and no answer changes.

A library, `sapwood match` and `sapwood simulate` load in place, when plain Python has cost about as
much as loading will (`InPlace`): so nobody ever pays more than twice what they would have paid with
foresight. A broker, which must not stand still, loads in a thread (`sapwood.broker.kernels`), and
begins as soon as it is subscribed to, if that takes no compiling (`Awaiting.expect`). A shell says
which by `loading`; the context carries it, since routers, links and indexes in between have no use
for it.
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
what that takes, numba's import with it."""

COMPILE_AFTER: Final = 8_000_000
"""The same where they are in no cache: what compiling them takes."""

CHECKED: Final = 500
"""Work between two looks whether the kernels are at hand."""

REPORTED: Final = 50_000
"""Work that one engine gathers before its loader hears of it: a twentieth of a second."""


@dataclass(frozen=True, slots=True)
class KernelSet:
    """The compiled kernels of one engine.

    `module` is that of the compiled ones, beside which there is a `plain` one; what the engine
    calls are the entries of its `LIBRARY`.
    """

    name: str
    module: str

    @property
    def compiled(self) -> ModuleType | None:
        """The module of compiled kernels if all of them are at hand in this process.

        Asking imports nothing and takes about a microsecond. Where numba is told to compile
        nothing, kernels are plain code and always at hand.
        """
        # A package has a module as an attribute when the import of that has ended.
        package, _, name = self.module.rpartition(".")
        module: ModuleType | None = getattr(import_module(package), name, None)
        if module is None or not (module.LIBRARY is None or module.LIBRARY.is_loaded):
            return None
        return module

    def library(self) -> KernelLibrary | None:
        """Their code, loaded or not; imports numba. `None` where that compiles nothing."""
        library: KernelLibrary | None = import_module(self.module).LIBRARY
        return library

    def is_cached(self) -> bool:
        """Whether all of them have been compiled for this machine, and kept; imports numba."""
        library = self.library()
        return library is None or library.is_kept()

    def load(self) -> None:
        """Have all of them at hand when this returns: what was kept, or compiled."""
        library = self.library()
        if library is not None:
            library.load(tell=None)


class Loader(Protocol):
    """Who decides when compiled kernels are loaded."""

    def worked(self, kernels: KernelSet, work: int) -> None:
        """Plain Python has done `work`, in about microseconds, that these would have spared."""

    def expected(self, kernels: KernelSet) -> None:
        """Somebody holds what these are for: there will be work for them, sooner or later."""


class InPlace:
    """Loads kernels in the thread that wants them, as soon as that has paid.

    `tell` hears a sentence before anything is compiled, which takes long.
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
        #: name of a set -> what plain Python has done in its place
        self._worked: dict[str, int] = {}
        #: names of sets that were not in the cache when it was looked into
        self._uncached: set[str] = set()

    def expected(self, kernels: KernelSet) -> None:
        """Do nothing: it may never pay."""

    def worked(self, kernels: KernelSet, work: int) -> None:
        """Load the kernels if that has paid by now."""
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
    """How long one engine has done without its compiled kernels.

    `loader` hears of it, or else the one of the context. Whether the kernels are at hand is looked
    up after every `every` of work: looking takes some microseconds, about what a match in a small
    set does.
    """

    __slots__ = ("_every", "_is_expected", "_kernels", "_loader", "_unchecked", "_unreported")

    def __init__(
        self, kernels: KernelSet, loader: Loader | None = None, every: int = CHECKED
    ) -> None:
        self._kernels = kernels
        self._loader = loader
        self._every = every
        #: whether the loader has heard that there will be work
        self._is_expected = False
        #: work since it was last looked up whether kernels are at hand
        self._unchecked = 0
        #: work that the loader has not heard of
        self._unreported = 0

    def at_hand(self) -> ModuleType | None:
        """The compiled kernels if they are at hand."""
        return self._kernels.compiled

    def expect(self) -> None:
        """There will be work: somebody has come with something to match, or to match against."""
        if not self._is_expected:
            self._is_expected = True
            (self._loader or _LOADER.get()).expected(self._kernels)

    def compiled(self, work: int) -> ModuleType | None:
        """The same after so much more work for plain Python, if it is time to look.

        Several threads may ask; what two of them do at the same time may count once.
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
