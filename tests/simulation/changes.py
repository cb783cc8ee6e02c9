"""Scenarios in which links come up, and fail, while everybody publishes."""

from __future__ import annotations

from random import Random

from sapwood.language import parse_filter
from sapwood.model.publication import Publication
from sapwood.overlay.graph import Graph
from sapwood.overlay.topology import Link, Overlay
from sapwood.simulation.faults import Window, flapping
from sapwood.simulation.history import AdvertisementName, ClientName, SubscriptionName
from sapwood.simulation.network import NOMINAL, Timing
from sapwood.simulation.scenario import (
    Action,
    AdvertiseAction,
    FailLink,
    PublishAction,
    ReturnLink,
    Scenario,
    Step,
    SubscribeAction,
    UnsubscribeAction,
    Until,
    WaitAction,
    timed_steps,
)
from sapwood.simulation.swarm import close_circles, draw_topology

QUIET = Step(WaitAction(Until.QUIET))
WANTED = ("x >= 0", "x >= 2", "x between 1 and 3", "exists y")


def adding(seed: int, *, failing: bool = False, churn: bool = False) -> Scenario:
    """Links that were down come up one by one, while publications are sent without a pause.

    With `failing` others flap meanwhile; with `churn` clients come and go.
    """
    draw = Random(f"{seed}/adding")
    tree = draw_topology(draw, draw.randint(3, 6))
    overlay = close_circles(draw, tree)
    of_tree = {frozenset((link.a, link.b)) for link in tree.links}
    extra = [link for link in overlay.links if frozenset((link.a, link.b)) not in of_tree]
    late = draw.sample(extra, draw.randint(1, len(extra)))
    seconds = draw.choice((0.05, 0.3, 2.0))
    timed: list[tuple[float, Action]] = [
        (draw.random() * seconds, ReturnLink(link.a, link.b)) for link in late
    ]
    timed.extend(_published(draw, overlay, seconds))
    if churn:
        timed.extend(_churn(draw, overlay, seconds))
    if failing:
        window = Window(0.0, seconds, draw.random())
        timed.extend(one for fault in flapping(tree, window, draw) for one in fault.actions())
    steps = [
        *(Step(FailLink(link.a, link.b)) for link in late),
        *(Step(action) for action in _advertised(overlay)),
        *(Step(action) for action in _subscribed(draw, overlay)),
        QUIET,
        *timed_steps(timed),
        QUIET,
    ]
    timing = draw.choice((NOMINAL, Timing(jitter=3.0), Timing(jitter=1.0, notice_s=0.05)))
    return Scenario(f"adding {seed}", overlay, tuple(steps), seed, timing)


def shortcut() -> Scenario:
    """Ways of one quick link take the place of a slow one, one after the other.

    What takes the new ones overtakes what is on the old one, and is confirmed sooner; and the old
    one has not run dry when the second of the new ones comes.
    """
    overlay = Graph(
        ("r1", "r2", "r3", "r4"),
        (
            Link("r1", "r2", 0.1),
            Link("r2", "r3", 0.01),
            Link("r3", "r4", 0.001),
            Link("r1", "r3", 0.001),
            Link("r1", "r4", 0.001),
        ),
    )
    timed: list[tuple[float, Action]] = [
        (0.0, ReturnLink("r1", "r3")),
        (0.25, ReturnLink("r1", "r4")),
    ]
    for number in range(100):
        at = number * 0.005
        name = SubscriptionName("r3", "ann", f"s{number}")
        timed.append((at, SubscribeAction(name, parse_filter(f"x >= {number}"))))
        published = Publication(f"p{number}", {"x": 100})
        timed.append((at + 0.001, PublishAction(ClientName("r1", "bob"), published)))
    late = [Step(FailLink("r1", router)) for router in ("r3", "r4")]
    return Scenario("shortcut", overlay, (*late, QUIET, *timed_steps(timed), QUIET), 1)


def _advertised(overlay: Overlay) -> list[Action]:
    true = parse_filter("true")
    return [AdvertiseAction(AdvertisementName(home, "bob", "a"), true) for home in overlay.routers]


def _subscribed(draw: Random, overlay: Overlay) -> list[Action]:
    return [
        SubscribeAction(SubscriptionName(home, "ann", f"s{number}"), parse_filter(wanted))
        for home in overlay.routers
        for number, wanted in enumerate(draw.choices(WANTED, k=2))
    ]


def _published(draw: Random, overlay: Overlay, seconds: float) -> list[tuple[float, Action]]:
    return [
        (
            number * seconds / 100,
            PublishAction(
                ClientName(draw.choice(overlay.routers), "bob"),
                Publication(f"p{number}", {"x": draw.randrange(5)}),
            ),
        )
        for number in range(130)  # some after the last change
    ]


def _churn(draw: Random, overlay: Overlay, seconds: float) -> list[tuple[float, Action]]:
    timed: list[tuple[float, Action]] = []
    for number in range(20):
        name = SubscriptionName(draw.choice(overlay.routers), "eve", f"s{number}")
        begun, ended = sorted((draw.random() * seconds, draw.random() * seconds))
        wanted = parse_filter(draw.choice(WANTED))
        timed.append((begun, SubscribeAction(name, wanted)))
        timed.append((ended, UnsubscribeAction(name)))
    return timed
