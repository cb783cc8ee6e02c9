"""A whole overlay in virtual time: the real routers, a network with faults, and an oracle.

::

    scenario = decode_scenario(path.read_bytes())
    outcome = simulate(scenario, router_maker("covering"))
    judgment = judge(outcome.world.history, outcome.world.network.delay_max_s, stuck=outcome.stuck)
    assert judgment.is_clean

`evaluate` does all of that, and measures; `sapwood.files.scenarios` reads scenarios from files.
"""

from __future__ import annotations

from sapwood.simulation.divergence import divergences, leaks, strays
from sapwood.simulation.evaluation import Evaluation, evaluate
from sapwood.simulation.metrics import Metrics, measure
from sapwood.simulation.oracle import Judgment, judge
from sapwood.simulation.scenario import Scenario, Step, subscribe_then_publish
from sapwood.simulation.scenario_document import decode_scenario, encode_scenario
from sapwood.simulation.simulator import Outcome, router_maker, simulate
from sapwood.simulation.swarm import Mixture, draw_scenario
from sapwood.simulation.world import World

__all__ = [
    "Evaluation",
    "Judgment",
    "Metrics",
    "Mixture",
    "Outcome",
    "Scenario",
    "Step",
    "World",
    "decode_scenario",
    "divergences",
    "draw_scenario",
    "encode_scenario",
    "evaluate",
    "judge",
    "leaks",
    "measure",
    "router_maker",
    "simulate",
    "strays",
    "subscribe_then_publish",
]
