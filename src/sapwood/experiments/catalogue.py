"""The catalogue of experiments."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Protocol

from sapwood.errors import UnknownNameError
from sapwood.experiments.report import Report


class Run(Protocol):
    """Carries out an experiment; what is left out is as the work had it.

    `sizes` are numbers of subscriptions, `source` names a workload, and `advance` is told how many
    more subscriptions are done.
    """

    def __call__(
        self,
        *,
        sizes: tuple[int, ...] = ...,
        seed: int = ...,
        source: str = ...,
        advance: Callable[[int], None] = ...,
    ) -> Report:
        """The report of the experiment."""
        ...


@dataclass(frozen=True, slots=True)
class Experiment:
    """An experiment by name: what of which work it makes again; `load` imports what it needs."""

    name: str
    source: str
    summary: str
    load: Callable[[], Run]


def _xroute() -> Run:
    from sapwood.experiments.xroute import run

    return run


def _strategies() -> Run:
    from sapwood.experiments.strategies import run

    return run


EXPERIMENTS: Final[Mapping[str, Experiment]] = MappingProxyType(
    {
        experiment.name: experiment
        for experiment in (
            Experiment(
                "xroute-tables",
                "XNet, table 6.5, figures 6.9, 6.10 and 6.16",
                "routing tables, registrations and matching, with and without aggregation",
                _xroute,
            ),
            Experiment(
                "strategies",
                "XPE dissemination, tables 1.2 and 1.3",
                "messages and delays of six strategies on trees of 7 and 127 routers",
                _strategies,
            ),
        )
    }
)


def experiment(name: str) -> Experiment:
    """The experiment of that name; raises `UnknownNameError` with the names there are."""
    found = EXPERIMENTS.get(name)
    if found is None:
        raise UnknownNameError("experiment", name, EXPERIMENTS)
    return found
