"""A DTD is read as it says, and nothing else is."""

from __future__ import annotations

import pytest

from sapwood.errors import InputError, LimitError, UnknownNameError
from sapwood.limits import DTD_BYTES_MAX, DTD_ELEMENTS_MAX
from sapwood.xml import read_document
from sapwood.xml.dtd import (
    AttributeType,
    ChoiceParticle,
    ContentKind,
    ElementType,
    NameParticle,
    Occurs,
    Presence,
    SequenceParticle,
    read_dtd,
)
from tests.data import data_file

BOMB = (
    b'<!ENTITY % e0 "(x|y)">'
    + b"".join(
        b'<!ENTITY %% e%d "%s">' % (level, b",".join([b"%%e%d;" % (level - 1)] * 8))
        for level in range(1, 12)
    )
    + b"<!ELEMENT x (%e11;)>"
)


def test_read_dtd_reads_content_and_attributes() -> None:
    dtd = read_dtd(
        b"""<!ENTITY % more "z*, (y | z)+">
        <!ELEMENT x ((y?, (z, y)), %more;)> <!ELEMENT y (#PCDATA | z)*> <!ELEMENT z EMPTY>
        <!ATTLIST z kind (long | short) "short" xml:lang NMTOKEN #IMPLIED
                    id ID #REQUIRED v CDATA #FIXED "1">"""
    )
    name = NameParticle
    model = SequenceParticle(
        (
            SequenceParticle((name("y", Occurs.OPTIONAL), name("z"), name("y"))),
            name("z", Occurs.REPEATED),
            ChoiceParticle((name("y"), name("z")), Occurs.AT_LEAST_ONCE),
        )
    )
    assert dtd.root == "x"
    assert dtd.element("x") == ElementType("x", ContentKind.ELEMENTS, model)
    mixed = ChoiceParticle((name("z"),), Occurs.REPEATED)
    assert dtd.element("y") == ElementType("y", ContentKind.MIXED, mixed)
    assert dtd.element("z").attributes == (
        AttributeType("id", "id", Presence.REQUIRED),
        AttributeType("kind", "enumeration", Presence.DEFAULT, "short", ("long", "short")),
        AttributeType("v", "cdata", Presence.FIXED, "1"),
        AttributeType("xml:lang", "nmtoken", Presence.IMPLIED),
    )


def test_read_dtd_takes_lines_that_end_in_carriage_returns() -> None:
    assert (
        len(read_dtd(b"<!-- one\rtwo -->\r<!ELEMENT x (y)>\r<!ELEMENT y\rANY>", "x").elements) == 2
    )
    with pytest.raises(InputError, match="line 3, column"):
        read_dtd(b"<!ELEMENT x (y)>\r<!ELEMENT y\rBUT>\r")


def test_read_dtd_takes_other_encodings() -> None:
    text = "<?xml version='1.0' encoding='ISO-8859-1'?><!ELEMENT größe EMPTY>"
    assert read_dtd(text.encode("latin-1")).root == "größe"
    assert read_dtd("\ufeff<!ELEMENT größe EMPTY>".encode("utf-16-le")).root == "größe"


@pytest.mark.parametrize(
    "data",
    [
        b'<!ENTITY % f SYSTEM "file:///etc/passwd"> %f; <!ELEMENT x ANY>',
        b'<!ENTITY % f PUBLIC "-//x" "http://localhost:9/x.dtd"> %f; <!ELEMENT x ANY>',
        b"<!ENTITY % a \"<!ENTITY &#37; f SYS&#x54;EM 'file:///etc/passwd'>\"> %a; %f;",
        b'<!ENTITY % f SYSTEM "urn:sapwood:dtd"> %f; <!ELEMENT x ANY>',
    ],
)
def test_read_dtd_loads_nothing_else(data: bytes) -> None:
    with pytest.raises(InputError, match="nothing else is loaded"):
        read_dtd(data)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"<!ELEMENT x (y, %unknown;)>", "line 1, column 26: Entity 'unknown' not defined"),
        (b"not a dtd", "DTD, line 1, column 1"),
        (b"<!ELEMENT x (y", "DTD, line 1"),
        (b"<!ELEMENT x ANY><!ELEMENT x EMPTY>", "Redefinition of element x"),
        (b"<!ELEMENT x " + b"(" * 5000 + b"y" + b")" * 5000 + b">", "DTD, line 1"),
        (BOMB, "amplification"),
        (b"", "declares no element"),
        (b"<!ATTLIST x y CDATA #IMPLIED>", "declares no element"),
        (b"<!ELEMENT p:x EMPTY>", "p:x has a prefix"),
        (b"<!ELEMENT x: EMPTY>", "x: has a prefix"),
        (b"<!ELEMENT x (:y)><!ELEMENT y EMPTY>", ":y has a prefix"),
        (b"<!ELEMENT x EMPTY><!ATTLIST x p:y:z CDATA #IMPLIED>", "p:y:z is no name with namesp"),
        (b"<!ELEMENT x EMPTY><!ATTLIST x :y CDATA #IMPLIED>", "the attribute :y is no name"),
        (b"<!ELEMENT x EMPTY><!ELEMENT y EMPTY>", "begin with any of x, y; say which"),
        (b"<!ELEMENT x (y?)><!ELEMENT y (x?)>", "begin with any element; say which"),
    ],
)
def test_read_dtd_refuses_with_the_reason(data: bytes, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        read_dtd(data)


def test_read_dtd_refuses_text_and_what_is_too_large() -> None:
    with pytest.raises(InputError, match="encode it as UTF-8"):
        read_dtd("<!ELEMENT x ANY>")  # type: ignore[arg-type]  # what a caller may do all the same
    with pytest.raises(LimitError, match="DTD_BYTES_MAX"):
        read_dtd(b" " * (DTD_BYTES_MAX + 1))
    many = b"".join(b"<!ELEMENT x%d EMPTY>" % at for at in range(DTD_ELEMENTS_MAX + 1))
    with pytest.raises(LimitError, match="DTD_ELEMENTS_MAX"):
        read_dtd(many, root="x0")


def test_read_dtd_takes_the_root_that_is_named() -> None:
    assert read_dtd(b"<!ELEMENT x EMPTY><!ELEMENT y EMPTY>", root="y").root == "y"
    with pytest.raises(UnknownNameError):
        read_dtd(b"<!ELEMENT x EMPTY>", root="z")


def test_read_dtd_reads_nitf() -> None:
    dtd = read_dtd(data_file("nitf", "nitf-2-5.dtd").read_bytes())
    assert dtd.root == "nitf"
    assert len(dtd.elements) == 123
    assert sum(len(one.attributes) for one in dtd.elements) == 513
    assert dtd.paths.is_recursive
    assert [dtd.paths.count(levels) for levels in (2, 3, 10)] == [2, 12, 743_942]


def test_paths_of_nitf_allow_those_of_its_documents() -> None:
    paths = read_dtd(data_file("nitf", "nitf-2-5.dtd").read_bytes()).paths
    for file in sorted(data_file("nitf", "documents").iterdir())[:20]:
        document = read_document(file.read_bytes(), content=False)
        above: list[tuple[str, ...]] = []
        for name, parent in zip(document.names, document.parents, strict=True):
            above.append((*above[parent], name) if parent >= 0 else (name,))
        leaves = set(range(len(document))) - set(document.parents)
        assert all(paths.allows(above[leaf]) for leaf in leaves)
