"""Scenarios whose routers get publications in batches: nothing but that is different."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from sapwood.model.publication import Publication
from sapwood.routing.effects import Effect, Persist
from sapwood.routing.inputs import (
    ClientPublish,
    ClientPublishMany,
    Input,
    Receive,
    ReceiveMany,
)
from sapwood.routing.messages import OnTree, Publish, PublishMany
from sapwood.routing.router import Router
from sapwood.simulation.simulator import simulate
from sapwood.simulation.swarm import Mixture, draw_scenario
from tests.batches import batch_of, each
from tests.simulation.helpers import INPUTS_MAX


class Batching(Router):
    """A router that gets each publication as a batch, and says one by one what comes of it."""

    def handle(self, input: Input, now: float) -> list[Effect]:
        return list(map(_alone, each(super().handle(self._batch(input), now))))

    def _batch(self, input: Input) -> Input:
        match input:
            case ClientPublish(client, publication):
                if not self.refused(client, _batched(publication)):
                    return ClientPublishMany(client, _batched(publication))
            case Receive(neighbor, Publish() as message):
                return ReceiveMany(neighbor, _many(message, None))
            case Receive(neighbor, OnTree(source, epoch, Publish() as message)):
                return ReceiveMany(neighbor, _many(message, (source, epoch)))
        return input


def _alone(effect: Effect) -> Effect:
    """A batch of one that is persisted, as what it is alone."""
    match effect:
        case Persist(ClientPublishMany() as many):
            return Persist(next(many.requests()))
        case Persist(ReceiveMany() as received):
            return Persist(next(received.messages()))
        case _:
            return effect


def _many(message: Publish, tree: tuple[str, int] | None) -> PublishMany:
    digests = (message.digest,) if message.digest else ()
    batch = _batched(message.publication)
    return PublishMany(message.origin, message.hops, batch, digests, tree)


def _batched(publication: Publication) -> Sequence[Publication]:
    return batch_of([publication])


@pytest.mark.parametrize(
    "protocol",
    [
        "covering",
        "flooding",
        "xroute",
        "advertisement+covering",
        "mesh+covering",
        "mesh+identity",
        "covering+recover",
        "mesh+xroute+recover",
    ],
)
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.one_in(12)
def test_scenarios_have_the_same_trace_with_batches_and_without(protocol: str, seed: int) -> None:
    mixture = Mixture(
        actions_max=12,
        documents=seed % 2 == 1,
        advertisements="advertisement" in protocol,
        circles="mesh" in protocol,
    )
    scenario = draw_scenario(seed, mixture)
    traces = []
    for kind in (Router, Batching):
        outcome = simulate(
            scenario,
            lambda name, incarnation, kind=kind: kind(  # type: ignore[misc]
                name, protocol, incarnation=incarnation
            ),
            validate=kind is Batching,
            inputs_max=INPUTS_MAX,
        )
        traces.append((outcome.world.trace.digest, outcome.stuck))
    assert traces[0] == traces[1]
