"""Documents as streams: as a tree would have it, as another parser has it, and in little memory."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterable
from xml.parsers import expat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import DocumentError, InputError, LimitError
from sapwood.xml import DocumentBounds, read_document, replay, stream_document, streaming
from tests.house import ROOT
from tests.xml.hostile import hostile_documents
from tests.xml.made import documents


class Heard:
    """Everything that a listener is told."""

    def __init__(self) -> None:
        self.told: list[tuple[object, ...]] = []

    def start(self, name: str, attributes: Iterable[tuple[str, str]]) -> None:
        self.told.append(("start", name, tuple(attributes)))

    def text(self, text: str) -> None:
        self.told.append(("text", text))

    def end(self) -> None:
        self.told.append(("end",))


def streamed(data: bytes, *, content: bool = True) -> list[tuple[object, ...]]:
    heard = Heard()
    stream_document(data, heard, content=content)
    return heard.told


def replayed(data: bytes, *, content: bool = True) -> list[tuple[object, ...]]:
    heard = Heard()
    replay(read_document(data, content=content), heard)
    return heard.told


def test_document_is_told_in_its_order() -> None:
    data = b"<a x='1&amp;2'>t<b/>u<!-- -->v<c>w&lt;<![CDATA[<x>]]></c><?p?></a>"
    assert streamed(data) == [
        ("start", "a", (("x", "1&2"),)),
        ("text", "t"),
        ("start", "b", ()),
        ("end",),
        ("text", "u"),
        ("text", "v"),
        ("start", "c", ()),
        ("text", "w<<x>"),
        ("end",),
        ("end",),
    ]


@given(data=documents(), part=st.integers(1, 9), content=st.booleans())
def test_stream_tells_what_a_document_that_was_read_replays(
    data: bytes, part: int, content: bool
) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(streaming, "PART_BYTES", part)
        assert streamed(data, content=content) == replayed(data, content=content)


@given(documents())
def test_stream_is_that_of_another_parser(data: bytes) -> None:
    expected: list[str] = []
    parser = expat.ParserCreate()
    parser.StartElementHandler = lambda name, attributes: expected.append(f"<{name} {attributes}>")
    parser.EndElementHandler = lambda name: expected.append("</>")
    parser.CharacterDataHandler = expected.append
    parser.Parse(data, True)
    told: list[str] = []
    for what, *said in streamed(data):
        if what == "start":
            name, attributes = said
            assert isinstance(attributes, tuple)
            told.append(f"<{name} {dict(attributes)}>")
        else:
            told.append("</>" if what == "end" else str(*said))
    assert "".join(told) == "".join(expected)


@pytest.mark.parametrize("uri", ["rel uri", "relative", "http://u", "", "%zz"])
def test_stream_takes_the_namespaces_that_the_reader_takes(uri: str) -> None:
    for data in (f"<a xmlns='{uri}'/>".encode(), f"<p:a xmlns:p='{uri}'/>".encode()):
        assert outcome(streamed, data) == outcome(replayed, data)


def outcome(of: Callable[[bytes], list[tuple[object, ...]]], data: bytes) -> object:
    """The result of reading a document, or the reason why it is refused."""
    try:
        return of(data)
    except DocumentError as error:
        return str(error)


def test_prefix_without_meaning_is_refused_in_the_part_that_it_is_in() -> None:
    heard = Heard()
    with pytest.raises(DocumentError, match="prefix p on b is not defined"):
        stream_document(b"<a><p:b/>" + b"<c/>" * 9_990 + b"</a>", heard)
    assert len(heard.told) < 20_000


@given(st.binary(max_size=60) | st.text("<>/ab=\"'&;![]-? ", max_size=60).map(str.encode))
def test_stream_refuses_what_the_reader_refuses(data: bytes) -> None:
    try:
        expected = replayed(data)
    except InputError as error:
        with pytest.raises(type(error)):
            streamed(data)
    else:
        assert streamed(data) == expected


@pytest.mark.parametrize(
    "data",
    [
        b"\xef\xbb\xbf" + '<a x="é">ß</a>'.encode(),
        '<?xml version="1.0" encoding="ISO-8859-1"?><a x="é">ß</a>'.encode("latin-1"),
        b'<?xml version="1.0" encoding="US-ASCII"?><a x="&#233;">&#xdf;</a>',
        '<a x="é">ß</a>'.encode("utf-16"),
        '<?xml version="1.0" encoding="UTF-16BE"?><a x="é">ß</a>'.encode("utf-16-be"),
    ],
)
def test_encodings_that_are_read_tell_the_same(data: bytes) -> None:
    assert streamed(data) == streamed('<a x="é">ß</a>'.encode())


def test_namespaces_are_told_as_the_reader_names_them() -> None:
    data = b'<a xmlns="u" xmlns:p="v" x="1" p:x="2"><p:b/><c xmlns=""/></a>'
    assert streamed(data) == replayed(data)
    assert streamed(data)[0] == ("start", "{u}a", (("x", "1"), ("{v}x", "2")))


@pytest.mark.parametrize("content", [True, pytest.param(False, marks=pytest.mark.long)])
def test_hostile_document_is_refused_with_a_place_or_a_bound(content: bool) -> None:
    for name, data in hostile_documents():
        with pytest.raises((DocumentError, LimitError)) as caught:
            stream_document(data, Heard(), content=content)
        error = caught.value
        if isinstance(error, DocumentError):
            assert error.line >= 1, name
            assert error.reason, name


@pytest.mark.parametrize("content", [True, False])
def test_depth_is_bounded_by_the_bound_and_not_by_the_parser(content: bool) -> None:
    deep = b"<a>" * 400 + b"</a>" * 400
    heard = Heard()
    with pytest.raises(LimitError, match="DOCUMENT_DEPTH_MAX"):
        stream_document(deep, heard, DocumentBounds(depth=399), content=content)
    assert len(heard.told) == 399, "told until then"
    stream_document(deep, Heard(), DocumentBounds(depth=400), content=content)


def test_text_is_no_document() -> None:
    with pytest.raises(InputError, match="encode it"):
        stream_document("<a/>", Heard())  # type: ignore[arg-type]


def test_what_a_listener_raises_comes_out() -> None:
    class Fails(Heard):
        def text(self, text: str) -> None:
            raise ArithmeticError(text)

    with pytest.raises(ArithmeticError, match="enough"):
        stream_document(b"<a>enough<b/></a>", Fails())


def test_large_document_streams_in_less_memory_than_it_takes_itself() -> None:
    # 4 MiB of bytes; as a tree they are three times that, so that the reader runs out of memory.
    code = """
import resource
from sapwood.language.xpath import parse_xpath
from sapwood.matching.published.xtrie import XTrieEngine
from sapwood.xml import DocumentBounds, read_document

engine = XTrieEngine(DocumentBounds(size=2**23, elements=10**6))
for slot, text in enumerate(("//b[@x = 'y']/c[text() != 'z']", "//b[c = 'q']", "/a/b[@x][c]")):
    engine.add(slot, parse_xpath(text))
data = b"<a>" + (b"<b x='y'><c>" + b"t" * 400 + b"</c></b>") * 10_000 + b"</a>"
assert engine.match(b"<a><b x='y'><c>t</c></b></a>") == [0, 2]
with open("/proc/self/statm") as pages:
    used = int(pages.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 2 * 2**20, resource.RLIM_INFINITY))
print(engine.match(data))
try:
    read_document(data, DocumentBounds(size=2**23, elements=10**6))
except MemoryError:
    print("too large to be read")
"""
    done = subprocess.run(
        [sys.executable, "-c", code], check=False, capture_output=True, text=True, cwd=ROOT
    )
    assert done.stderr == ""
    assert done.stdout == "[0, 2]\ntoo large to be read\n"
