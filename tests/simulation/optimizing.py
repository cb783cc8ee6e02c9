"""Scenarios with a tree optimizer: a client that states the routing tree again and again."""

from __future__ import annotations

from dataclasses import replace

from sapwood.model.interest import Interest
from sapwood.routing.forwarding.prefix.optimizer import Optimizer
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

NAME = "optimizer"


def optimized(scenario: Scenario, threshold: float = 0.3, every: int = 3) -> Scenario:
    """The same scenario with an optimizer at the first router.

    It hears of what clients have asked for until then after `every` steps, or a wait, and goes
    while clients are still busy: what it states crosses with everything else.
    """
    optimizer, me = Optimizer(threshold), ClientName(scenario.topology.routers[0], NAME)
    known: dict[tuple[ClientName, str], Interest] = {}
    steps: list[Step] = []
    for number, step in enumerate(scenario.steps):
        steps.append(step)
        _note(known, step.action)
        if isinstance(step.action, WaitAction) or number % every == every - 1:
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
