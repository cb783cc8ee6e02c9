"""Kernels that are at hand when a test says so, and who does not load any."""

from __future__ import annotations

from types import ModuleType

from sapwood.matching.readiness import KernelSet


class Switched(KernelSet):
    """A set of kernels that are loaded, but at hand only while it is switched on."""

    is_on: bool

    def __init__(self, real: KernelSet, *, is_on: bool = False) -> None:
        super().__init__(real.name, real.module)
        if real.compiled is None:  # they are loaded once for a process
            real.load()
        self.is_on = is_on

    def __setattr__(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    @property
    def compiled(self) -> ModuleType | None:
        return super().compiled if self.is_on else None

    def is_cached(self) -> bool:
        return True

    def load(self) -> None:
        self.is_on = True


class Nobody:
    """Loads nothing, and remembers how much work it heard of."""

    def __init__(self) -> None:
        self.heard = 0

    def expected(self, kernels: KernelSet) -> None:
        """There is nothing to load before it pays."""

    def worked(self, kernels: KernelSet, work: int) -> None:
        self.heard += work
