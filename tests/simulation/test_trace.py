from __future__ import annotations

import pytest

from sapwood.errors import InvariantError
from sapwood.language import parse_filter
from sapwood.limits import SIMULATION_STORY_LINES
from sapwood.model.publication import Publication
from sapwood.routing import effects, inputs, messages
from sapwood.simulation.trace import Trace

WANTED = parse_filter("x > 1.0 and x >= 1")
NEWS = Publication("p", {"x": 2})


def test_every_input_is_told_in_words() -> None:
    trace = Trace()
    for event in (
        inputs.AttachClient("ann"),
        inputs.DetachClient("ann"),
        inputs.ClientSubscribe("ann", "s", WANTED),
        inputs.ClientUnsubscribe("ann", "s"),
        inputs.ClientAdvertise("ann", "a", WANTED),
        inputs.ClientUnadvertise("ann", "a"),
        inputs.ClientPublish("ann", NEWS),
        inputs.LinkUp("b"),
        inputs.LinkDown("b"),
        inputs.Tick(),
        inputs.Receive("b", messages.Subscribe("k", WANTED, 1)),
        inputs.Receive("b", messages.Replace("l", WANTED, 2, ("k", "m"))),
        inputs.Receive("b", messages.Unsubscribe("k")),
        inputs.Receive("b", messages.Confirm("k", 1)),
        inputs.Receive("b", messages.Advertise("k", WANTED, 1)),
        inputs.Receive("b", messages.Unadvertise("k")),
        inputs.Receive("b", messages.ConfirmAdvertisement("k", 1)),
        inputs.Receive("b", messages.Publish("b", 1, NEWS)),
    ):
        trace.note(0.5, "a", event, [])
    assert list(trace.story) == [
        "0.5 a: attach ann => ",
        "0.5 a: detach ann => ",
        "0.5 a: ann subscribes s: x > 1 => ",
        "0.5 a: ann unsubscribes s => ",
        "0.5 a: ann advertises a: x > 1 => ",
        "0.5 a: ann unadvertises a => ",
        "0.5 a: ann publishes p => ",
        "0.5 a: link to b up => ",
        "0.5 a: link to b down => ",
        "0.5 a: tick => ",
        "0.5 a: subscribe k, sending 1: x > 1 from b => ",
        "0.5 a: subscribe l for k, m, sending 2: x > 1 from b => ",
        "0.5 a: unsubscribe k from b => ",
        "0.5 a: confirm k, sending 1 from b => ",
        "0.5 a: advertise k, sending 1: x > 1 from b => ",
        "0.5 a: unadvertise k from b => ",
        "0.5 a: confirm advertisement k, sending 1 from b => ",
        "0.5 a: publish p of b after 1 from b => ",
    ]


def test_every_effect_is_told_in_words() -> None:
    trace = Trace()
    told: list[effects.Effect] = [
        effects.Send("b", messages.Confirm("k", 1)),
        effects.Deliver("ann", ("s", "t"), NEWS),
        effects.Subscribed("ann", "s"),
        effects.Unsubscribed("ann", "s"),
        effects.Advertised("ann", "a"),
        effects.Unadvertised("ann", "a"),
        effects.Accepted("ann", "p"),
        effects.Refused("ann", "s", "no"),
        effects.CloseLink("b", "enough"),
    ]
    trace.note(0.0, "a", inputs.LinkUp("b"), told)
    (line,) = trace.story
    assert line.partition(" => ")[2].split("; ") == [
        "confirm k, sending 1 to b",
        "deliver p to ann for s, t",
        "ann is subscribed s",
        "ann is unsubscribed s",
        "ann has advertised a",
        "ann has unadvertised a",
        "p of ann accepted",
        "s of ann refused: no",
        "close link to b: enough",
    ]


def test_the_digest_depends_on_every_step_and_their_order() -> None:
    digests = set()
    for remarks in ([], ["a"], ["b"], ["a", "b"], ["b", "a"]):
        trace = Trace()
        for words in remarks:
            trace.remark(1.0, words)
        digests.add(trace.digest)
    assert len(digests) == 5


def test_without_a_trace_there_are_no_words_and_no_digest() -> None:
    trace = Trace(kept=False)
    trace.remark(1.0, "a")
    trace.note(1.0, "a", inputs.LinkUp("b"), [])
    assert not trace.story
    with pytest.raises(InvariantError, match="nobody kept a trace"):
        assert trace.digest


def test_the_digest_covers_more_than_the_story_keeps() -> None:
    long, longer = Trace(), Trace()
    longer.remark(0.0, "the first of all")
    for trace in (long, longer):
        for number in range(SIMULATION_STORY_LINES):
            trace.remark(1.0, str(number))
    assert long.story == longer.story
    assert len(long.story) == SIMULATION_STORY_LINES
    assert long.digest != longer.digest
