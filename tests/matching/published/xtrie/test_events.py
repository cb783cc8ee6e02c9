"""Documents as streams."""

from __future__ import annotations

from xml.parsers import expat

from hypothesis import given

from sapwood.matching.published.xtrie.events import Characters, End, Start, events
from sapwood.xml import read_document
from tests.xml.made import documents


def test_events_come_in_the_order_of_the_text() -> None:
    document = read_document(b"<a x='1'>t<b/>u<!-- -->v<c>w</c></a>")
    assert list(events(document)) == [
        Start(0, "a", (("x", "1"),)),
        Characters("t"),
        Start(1, "b", ()),
        End(1),
        Characters("u"),
        Characters("v"),
        Start(2, "c", ()),
        Characters("w"),
        End(2),
        End(0),
    ]


@given(documents())
def test_events_are_those_of_a_streaming_parser(data: bytes) -> None:
    streamed: list[str] = []
    parser = expat.ParserCreate()
    parser.StartElementHandler = lambda name, attributes: streamed.append(f"<{name} {attributes}>")
    parser.EndElementHandler = lambda name: streamed.append("</>")
    parser.CharacterDataHandler = streamed.append
    parser.Parse(data, True)
    reported: list[str] = []
    for event in events(read_document(data)):
        match event:
            case Start(name=name, attributes=attributes):
                reported.append(f"<{name} {dict(attributes)}>")
            case Characters(text=text):
                reported.append(text)
            case End():
                reported.append("</>")
    assert "".join(reported) == "".join(streamed)
    structure = list(events(read_document(data, content=False)))
    assert sum(isinstance(event, Start) for event in structure) == len(structure) / 2
