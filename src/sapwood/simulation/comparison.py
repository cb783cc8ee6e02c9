"""Several protocols on one scenario: the cost of each, and the one to recommend.

::

    candidates = compare(scenario_for, ["simple", "covering"], process_time, bytes_of)
    candidates[0].protocol      # the recommended one

Recommended is, of the protocols under which every delivery is right, the one with the fewest bytes
on links among those whose routers take hardly more processor time than any other's
(`ALIKE`). Behind it come the others that are right, by processor time; then those under which
something went wrong, and those that this overlay or these subscriptions do not allow.

The simulator hands in publications one by one: a broker that gets them in batches takes less time
for each, under every protocol.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Final

from sapwood.errors import InputError
from sapwood.routing.strategies import Protocol
from sapwood.simulation.evaluation import ENGINE, Evaluation, Watch, evaluate, unwatched
from sapwood.simulation.metering import Meter, Weigh
from sapwood.simulation.scenario import Scenario

ALIKE: Final = 1.1
"""Processor times whose ratio is at most this count as equal: machines are noisy."""


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of an overlay under a protocol.

    Seconds are processor time: of the publications where they entered, of the same at later
    routers, `entries` and `passages` times, and of all else. `matches` are searches of content, of
    one publication each; `lookups` are keys that were looked up instead. `tables` are the entries
    of all routers at the end.
    """

    entered_s: float
    entries: int
    passed_s: float
    passages: int
    state_s: float
    state_messages: int
    state_bytes: int
    publication_bytes: int
    matches: int
    lookups: int
    tables: int

    @property
    def seconds(self) -> float:
        """All processor time."""
        return self.entered_s + self.passed_s + self.state_s

    @property
    def bytes(self) -> int:
        """All bytes on links."""
        return self.state_bytes + self.publication_bytes


@dataclass(frozen=True, slots=True)
class Candidate:
    """A protocol that was tried: its results and its cost, or why it cannot be used."""

    protocol: str
    evaluation: Evaluation | None = None
    cost: Cost | None = None
    refusal: str = ""

    @property
    def is_right(self) -> bool:
        """True if it was tried, and nothing went wrong."""
        return self.evaluation is not None and self.evaluation.is_right


def compare(
    scenario_for: Callable[[Protocol], Scenario],
    protocols: Sequence[Protocol],
    clock: Callable[[], float],
    weigh: Weigh,
    *,
    engine: str = ENGINE,
    kernels: Callable[[], Hashable] = lambda: None,
    watch: Watch = unwatched,
) -> list[Candidate]:
    """Try protocols on a scenario each, the same but for the necessary advertisements.

    Returns the recommended one first (see the module). `kernels` returns which compiled code is at
    hand: a protocol measured before some of it was ready is measured again with all of it.
    """
    found: dict[int, Candidate] = {}
    began: dict[int, Hashable] = {}
    while again := [
        at for at in range(len(protocols)) if at not in found or began[at] != kernels()
    ]:
        for at in again:
            began[at] = kernels()
            meter = Meter(clock, weigh)
            found[at] = tried(scenario_for, protocols[at], meter, engine, watch)
    return ranked([found[at] for at in range(len(protocols))])


def tried(
    scenario_for: Callable[[Protocol], Scenario],
    protocol: Protocol,
    meter: Meter,
    engine: str,
    watch: Watch,
) -> Candidate:
    """A protocol on its scenario."""
    try:
        evaluation = evaluate(
            scenario_for(protocol), protocol, engine=engine, maker=meter.maker, watch=watch
        )
    except InputError as error:
        return Candidate(protocol.name, refusal=str(error))
    return Candidate(protocol.name, evaluation, cost_of(evaluation, meter))


def cost_of(evaluation: Evaluation, meter: Meter) -> Cost:
    """The cost of an evaluation, from its meter and its metrics."""
    figures, counted = evaluation.metrics, meter.counters()
    return Cost(
        entered_s=meter.entered.seconds,
        entries=meter.entered.inputs,
        passed_s=meter.passed.seconds,
        passages=meter.passed.inputs,
        state_s=meter.state.seconds,
        state_messages=sum(figures.messages.values()) - figures.messages.get("publish", 0),
        state_bytes=meter.state.bytes,
        publication_bytes=meter.entered.bytes + meter.passed.bytes,
        matches=figures.content_matches,
        lookups=counted.get("lookups", 0),
        tables=sum(sum(sizes.values()) for sizes in figures.tables.values()),
    )


def ranked(candidates: Sequence[Candidate]) -> list[Candidate]:
    """The recommended one, the other ones that are right, those that are wrong, those refused."""
    right = [(one, one.cost) for one in candidates if one.is_right and one.cost is not None]
    wrong = [one for one in candidates if one.evaluation is not None and not one.is_right]
    refused = [one for one in candidates if one.evaluation is None]
    if not right:
        return [*wrong, *refused]
    least = min(cost.seconds for _, cost in right)
    best, _ = min(
        ((one, cost) for one, cost in right if cost.seconds <= ALIKE * least),
        key=lambda pair: pair[1].bytes,
    )
    others = sorted(right, key=lambda pair: pair[1].seconds)
    return [best, *(one for one, _ in others if one is not best), *wrong, *refused]


def why(candidates: Sequence[Candidate]) -> str:
    """The reason why the first of ranked candidates is recommended, in a sentence."""
    costs = [one.cost for one in candidates if one.is_right and one.cost is not None]
    if not costs:
        return "none is recommended: under each something went wrong, or it cannot be had here"
    first, name = costs[0], candidates[0].protocol
    if len(costs) == 1:
        return f"{name} is recommended: it is the only one under which all is right"
    least = min(cost.seconds for cost in costs)
    near = [cost for cost in costs[1:] if cost.seconds <= ALIKE * least]
    slowest = max(cost.seconds for cost in costs)
    said = (
        f"{name} is recommended: its routers take {1e3 * first.seconds:,.0f} ms of processor time "
        f"in all, where the most is {1e3 * slowest:,.0f} ms"
    )
    if near:
        said += f", and of those within {ALIKE - 1:.0%} of the least it sends the fewest bytes"
    return said
