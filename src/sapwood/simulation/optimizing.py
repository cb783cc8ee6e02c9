"""Scenarios with a tree optimizer: a client that states the routing tree again and again."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from sapwood.model.interest import Interest
from sapwood.routing.forwarding.prefix.digest import MARK
from sapwood.routing.forwarding.prefix.optimizer import THRESHOLD_DEFAULT, Optimizer
from sapwood.routing.strategies import Protocol
from sapwood.simulation.history import ClientName
from sapwood.simulation.scenario import (
    Action,
    DetachAction,
    Scenario,
    Step,
    SubscribeAction,
    SubscribeManyAction,
    UnsubscribeAction,
    UnsubscribeManyAction,
    WaitAction,
)

NAME: Final = "optimizer"


def fitted(scenario: Scenario, protocol: Protocol) -> Scenario:
    """The scenario as a protocol can have it: under `prefix` with an optimizer.

    Without one, no router has a tree, and all of them match by content. It gets the subscriptions
    whenever clients wait, so that publications in between follow the tree of the earlier
    subscriptions.
    """
    return optimized(scenario) if protocol.forwarding.mark == MARK else scenario


def optimized(
    scenario: Scenario, threshold: float = THRESHOLD_DEFAULT, every: int | None = None
) -> Scenario:
    """The scenario with an optimizer at the first router.

    It gets the subscriptions stated until then at each wait, and after every `every` steps where
    that is given: then its statements cross with those of clients. Raises `LimitError` where
    the tree is larger than `limits.TREE_BYTES_MAX`.
    """
    optimizer, me = Optimizer(threshold), ClientName(scenario.topology.routers[0], NAME)
    known: dict[tuple[ClientName, str], Interest] = {}
    steps: list[Step] = []
    for number, step in enumerate(scenario.steps):
        steps.append(step)
        _note(known, step.action)
        if isinstance(step.action, WaitAction) or (every and number % every == every - 1):
            optimizer.hear(known.values())
            update = optimizer.update()
            if update is not None:
                stated = SubscribeManyAction(me, tuple(update.subscriptions))
                steps.append(Step(stated))
                if update.withdrawn:
                    steps.append(Step(UnsubscribeManyAction(me, tuple(update.withdrawn))))
                if isinstance(step.action, WaitAction):
                    steps.append(step)
    return replace(scenario, name=f"{scenario.name} optimized", steps=tuple(steps))


def _note(known: dict[tuple[ClientName, str], Interest], action: Action) -> None:
    match action:
        case SubscribeAction(name, wanted):
            known[name.owner, name.id] = wanted
        case UnsubscribeAction(name):
            known.pop((name.owner, name.id), None)
        case SubscribeManyAction(client, subscriptions):
            known.update({(client, id_): wanted for id_, wanted in subscriptions})
        case UnsubscribeManyAction(client, ids):
            for id_ in ids:
                known.pop((client, id_), None)
        case DetachAction(client):
            for owned in [owned for owned in known if owned[0] == client]:
                del known[owned]
        case _:
            pass
