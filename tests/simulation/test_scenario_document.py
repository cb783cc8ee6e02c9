from __future__ import annotations

import json
from typing import Any

import pytest

from sapwood.errors import InputError, UnknownNameError
from sapwood.language import parse_filter
from sapwood.language.xpath import parse_xpath
from sapwood.model.publication import Publication
from sapwood.overlay.topology import Link, Topology
from sapwood.simulation.history import AdvertisementName, ClientName, SubscriptionName
from sapwood.simulation.network import Timing
from sapwood.simulation.scenario import (
    AddLink,
    AddRouter,
    AdvertiseAction,
    CrashRouter,
    DetachAction,
    FailLink,
    PublishAction,
    RemoveLink,
    RemoveRouter,
    ReturnLink,
    ReturnRouter,
    Scenario,
    Step,
    SubscribeAction,
    UnadvertiseAction,
    UnsubscribeAction,
    Until,
    WaitAction,
)
from sapwood.simulation.scenario_document import decode_scenario, encode_scenario
from sapwood.simulation.stored import Tail
from sapwood.simulation.swarm import Mixture, draw_scenario

PAIR = Topology(("a", "b"), (Link("a", "b", 0.25),))
ANN = ClientName("a", "ann")
EVERYTHING = Scenario(
    "everything",
    PAIR,
    (
        Step(SubscribeAction(SubscriptionName("a", "ann", "s"), parse_filter("x  >  1"))),
        Step(WaitAction(Until.CONFIRMED)),
        Step(PublishAction(ANN, Publication("p", {"x": 2, "deep": {"y": [1, None]}})), 0.5),
        Step(PublishAction(ANN, Publication("q", {"x": 2}, None, b"\xff", is_blind=True))),
        Step(WaitAction(Until.QUIET)),
        Step(FailLink("a", "b"), 1.0),
        Step(ReturnLink("a", "b"), 1.0),
        Step(CrashRouter("b")),
        Step(CrashRouter("b", Tail.TORN, 3)),
        Step(CrashRouter("b", Tail.WHOLE)),
        Step(ReturnRouter("b")),
        Step(AddRouter("c")),
        Step(AddLink("c", "a", 0.75)),
        Step(RemoveLink("a", "b")),
        Step(RemoveRouter("c")),
        Step(UnsubscribeAction(SubscriptionName("a", "ann", "s"))),
        Step(AdvertiseAction(AdvertisementName("a", "ann", "a"), parse_filter("x  >  0"))),
        Step(UnadvertiseAction(AdvertisementName("a", "ann", "a"))),
        Step(DetachAction(ANN)),
    ),
    seed=7,
    timing=Timing(jitter=0.5, notice_s=0.125, commit_s=0.25),
)


def document(*steps: Any, **fields: Any) -> bytes:
    topology = {"link": [{"between": ["a", "b"]}]}
    return json.dumps(
        {"scenario": 1, "name": "n", "topology": topology, "steps": list(steps), **fields}
    ).encode()


def test_encode_scenario_is_read_back_as_an_equal_scenario() -> None:
    assert decode_scenario(encode_scenario(EVERYTHING)) == EVERYTHING


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.one_in(3)
def test_drawn_scenarios_of_both_languages_survive_writing_and_reading(seed: int) -> None:
    scenario = draw_scenario(seed, Mixture(documents=True, advertisements=True, rewiring=True))
    assert decode_scenario(encode_scenario(scenario)) == scenario


def test_paths_survive_writing_and_reading() -> None:
    promised = {"do": "advertise", "home": "a", "client": "c", "id": "a1", "paths": "/a(/b)+"}
    scenario = decode_scenario(document(promised))
    assert decode_scenario(encode_scenario(scenario)) == scenario
    with pytest.raises(InputError, match="every level is written"):
        decode_scenario(document({**promised, "paths": "//a"}))


def test_prefixes_survive_writing_and_reading() -> None:
    bound = {"do": "subscribe", "home": "a", "client": "c", "id": "s"}
    text = document({**bound, "xpath": "/n:a", "namespaces": {"n": "urn:n"}})
    scenario = decode_scenario(text)
    assert decode_scenario(encode_scenario(scenario)) == scenario
    action = scenario.steps[0].action
    assert isinstance(action, SubscribeAction)
    assert action.filter == parse_xpath("/n:a", {"n": "urn:n"})


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.one_in(4)
def test_drawn_scenarios_survive_writing_and_reading(seed: int) -> None:
    scenario = draw_scenario(seed)
    assert decode_scenario(encode_scenario(scenario)) == scenario


def test_encode_scenario_keeps_the_text_of_filters() -> None:
    assert b'"x  >  1"' in encode_scenario(EVERYTHING)
    wanted = type(parse_filter("true"))(parse_filter("x > 1.0").conjunctions)
    step = Step(SubscribeAction(SubscriptionName("a", "ann", "s"), wanted))
    assert b'"x > 1"' in encode_scenario(Scenario("n", PAIR, (step,)))


def test_decode_scenario_fills_in_what_is_left_out() -> None:
    scenario = decode_scenario(document())
    assert scenario == Scenario("n", Topology(("a", "b"), (Link("a", "b"),)), ())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b"\xff", "not JSON"),
        (b"[]", "the scenario is a table"),
        (document(scenario=2), "version 2; this program reads 1"),
        (document(scenario=None), "`scenario` must be a whole number; it is missing"),
        (document(name=""), "`name` must be a non-empty text"),
        (document(sed=1), "has no field 'sed'"),
        (document(jitter=-1), "`jitter` must be a share of the latency, zero or more"),
        (document(topology=None), "`topology` must be a table"),
        (document(topology={"link": [{}]}), "the scenario's topology, link 1: `between`"),
        (document("wait"), "step 1 of the scenario: `do` must say what to do, one of subscribe"),
        (document({}), "step 1 of the scenario: `do` must say"),
        (document({"do": "wait"}), r"step 1 of the scenario \(wait\): `until` must be"),
        (document({"do": "wait", "until": "quiet", "at": 1}), "has no field 'at'; it has do"),
        (document({"do": "wait", "until": "quiet", "after": "1"}), "`after` must be a number"),
        (
            document({"do": "subscribe", "home": "a", "client": "c", "id": "s", "filter": "x >"}),
            r"step 1 of the scenario \(subscribe\): .*, at position",
        ),
        (
            document({"do": "publish", "home": "a", "client": "c", "id": "p", "attributes": 1}),
            "`attributes` must be a table",
        ),
        (
            document(
                {"do": "publish", "home": "a", "client": "c", "id": "p", "attributes": {"n": 2**63}}
            ),
            r"step 1 of the scenario \(publish\): attribute 'n': .* 64 bits",
        ),
        (document({"do": "fail-link", "between": ["a", "c"]}), "scenario 'n', step 1: .*'c'"),
    ],
)
def test_decode_scenario_names_what_is_wrong(text: bytes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        decode_scenario(text)


def test_decode_scenario_lists_the_steps_it_knows() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'publish'"):
        decode_scenario(document({"do": "publsh"}))


def test_decode_scenario_lists_the_states_one_can_wait_for() -> None:
    with pytest.raises(UnknownNameError, match="known: confirmed, quiet"):
        decode_scenario(document({"do": "wait", "until": "noon"}))


def test_a_link_that_is_added_has_the_default_latency_unless_told_otherwise() -> None:
    router = {"do": "add-router", "router": "c"}
    scenario = decode_scenario(document(router, {"do": "add-link", "between": ["c", "a"]}))
    assert scenario.steps[1].action == AddLink("c", "a", 0.01)
