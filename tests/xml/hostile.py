"""Documents that mean harm, made from a few recipes; each must be refused.

Everything is made anew from parameters: nothing is stored, nothing is drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

Recipe: TypeAlias = Callable[[], Iterator[tuple[str, bytes]]]

_SIZES: Final = (1, 10, 1000, 100_000)


def hostile_documents() -> Iterator[tuple[str, bytes]]:
    """Name and bytes of each hostile document."""
    for recipe in _RECIPES:
        for name, data in recipe():
            yield f"{recipe.__name__.strip('_')}: {name}", data


def _entities() -> Iterator[tuple[str, bytes]]:
    """Entities that grow, that call on themselves, and that reach outside."""
    for width in (2, 10, 100):
        for depth in (2, 9, 30):
            entities = "".join(
                f'<!ENTITY e{level} "{f"&e{level - 1};" * width}">' for level in range(1, depth)
            )
            yield (
                f"billion laughs, {width} to the {depth}",
                f'<!DOCTYPE a [<!ENTITY e0 "ha">{entities}]><a>&e{depth - 1};</a>'.encode(),
            )
    for size in _SIZES:
        yield (
            f"quadratic, {size}",
            f'<!DOCTYPE a [<!ENTITY e "{"x" * size}">]><a>{"&e;" * (size // 4 + 1)}</a>'.encode(),
        )
    for target in ("file:///etc/passwd", "http://127.0.0.1:9/x", "/dev/zero", "expect://id"):
        for kind in ("SYSTEM", 'PUBLIC "p"'):
            yield (
                f"external entity {kind} {target}",
                f'<!DOCTYPE a [<!ENTITY x {kind} "{target}">]><a>&x;</a>'.encode(),
            )
            yield (
                f"external subset {kind} {target}",
                f'<!DOCTYPE a {kind} "{target}"><a/>'.encode(),
            )
            yield (
                f"parameter entity {kind} {target}",
                f'<!DOCTYPE a [<!ENTITY % p {kind} "{target}">%p;]><a/>'.encode(),
            )
    yield "entity in itself", b'<!DOCTYPE a [<!ENTITY e "&e;">]><a>&e;</a>'
    yield "entity in an attribute", b'<!DOCTYPE a [<!ENTITY e "v">]><a x="&e;"/>'


def _doctypes() -> Iterator[tuple[str, bytes]]:
    """A DOCTYPE, however it hides before the root."""
    before = (
        b"",
        b" \t\r\n",
        b"\xef\xbb\xbf",
        b'<?xml version="1.0"?>',
        b'<?xml version="1.0" encoding="iso-8859-1"?>\n',
        b"<!-- a comment -->",
        b"<!-- <a> --><?p <a/> ?>\n",
        b"<?p?>" * 500,
        b"<!---->" * 500,
        b"\n" * 100_000,
    )
    doctypes = (b"<!DOCTYPE a>", b"<!DOCTYPE\na []>", b'<!DOCTYPE a [<!ATTLIST a x CDATA "d">]>')
    for start in before:
        for doctype in doctypes:
            yield f"after {start[:24]!r}: {doctype[:20]!r}", start + doctype + b"<a/>"
    for codec in ("utf-16", "utf-16-le", "utf-16-be"):
        yield f"in {codec}", "<!DOCTYPE a><a/>".encode(codec)
    yield "in lower case", b"<!doctype a><a/>"
    yield "after the root", b"<a/><!DOCTYPE a>"
    yield "inside the root", b"<a><!DOCTYPE a></a>"


def _nesting() -> Iterator[tuple[str, bytes]]:
    """Elements inside each other, closed or not."""
    for depth in (65, 66, 100, 255, 256, 257, 1000, 9_999, 100_000):
        yield f"{depth} closed", b"<a>" * depth + b"</a>" * depth
        yield f"{depth} open", b"<a>" * depth
        yield f"{depth} with names", b"".join(b"<a%d>" % at for at in range(depth))
        yield f"{depth} with texts", b"<a>x" * depth + b"</a>" * depth


def _crowds() -> Iterator[tuple[str, bytes]]:
    """Too many of a kind."""
    for count in (10_000, 20_000, 100_000, 200_000):
        yield f"{count} elements", b"<r>" + b"<a/>" * count + b"</r>"
        yield f"{count} open tags", b"<r>" + b"<a>" * count
    for count in (65, 100, 1000, 10_000, 90_000):
        names = b"".join(b' a%d=""' % at for at in range(count))
        yield f"{count} attributes", b"<r" + names + b"/>"
        yield f"{count} attributes after '>'", b'<r x=">"' + names + b"/>"
        yield f"{count} attributes in an inner element", b"<r><s" + names + b"/></r>"
        yield f"{count} same attributes", b"<r" + b' a=""' * count + b"/>"
        declared = b"".join(b' xmlns:p%d="u"' % at for at in range(count))
        yield f"{count} namespaces", b"<r" + declared + b"/>"
    yield "one byte too many", b"<a>" + b"x" * (1_048_577 - 7) + b"</a>"
    yield "four mebibytes", b"<a>" + b"x" * 4_194_304 + b"</a>"
    yield "many <", b"<" * 1_000_000
    yield "many &", b"<a>" + b"&" * 1_000_000 + b"</a>"
    yield "many open comments", b"<a>" + b"<!--" * 250_000
    yield "many open sections", b"<a>" + b"<![CDATA[" * 100_000
    yield "many open instructions", b"<a>" + b"<?a " * 250_000
    yield "one long name", b"<" + b"a" * 1_000_000
    yield "one long attribute", b'<a x="' + b"v" * 1_000_000
    yield "many open quotes", b"<a " + b"x='" * 300_000
    yield "many =", b"<a " + b"=" * 1_000_000 + b"/>"
    yield "many blanks in a tag", b"<a" + b" " * 1_000_000


def _encodings() -> Iterator[tuple[str, bytes]]:
    """Declared encodings that hide markup, and bytes that are in none."""
    names = ("utf-7", "utf-32", "cp037", "ibm037", "ebcdic-cp-us", "iso-2022-jp", "shift_jis")
    more = ("gb18030", "big5", "koi8-r", "windows-1252", "x-user-defined", "zip", "rot13", "")
    for name in (*names, *more, "idna", "unicode-escape", "a" * 5000):
        yield f"{name[:20]} declared", f'<?xml version="1.0" encoding="{name}"?><a/>'.encode()
    yield "utf-7 markup", b'<?xml version="1.0" encoding="UTF-7"?>+ADw-a+AD4-'
    yield "utf-16 declared in ASCII", b'<?xml version="1.0" encoding="UTF-16"?><a/>'
    yield "ebcdic", '<?xml version="1.0" encoding="cp037"?><a/>'.encode("cp037")
    yield "utf-32", "<a/>".encode("utf-32")
    yield "utf-16 cut off", "<a/>".encode("utf-16")[:-1]
    yield "utf-16 surrogate", "<a>".encode("utf-16") + b"\x00\xd8" + "</a>".encode("utf-16-le")
    broken = (b"\x80", b"\xc0\x80", b"\xed\xa0\x80", b"\xf5\x80\x80\x80", b"\xff", b"\xe2\x82")
    for bad in broken:
        yield f"not UTF-8: {bad!r}", b"<a>" + bad + b"</a>"
        yield f"not UTF-8 in a name: {bad!r}", b"<a" + bad + b"/>"
        yield f"not ASCII: {bad!r}", b'<?xml version="1.0" encoding="us-ascii"?><a>' + bad + b"</a>"


def _characters() -> Iterator[tuple[str, bytes]]:
    """Characters that no document holds, written out and referred to."""
    for code in (*range(9), 11, 12, 14, 31, 0xFFFE, 0xFFFF):
        yield f"raw {code:#x}", b"<a>" + chr(code).encode() + b"</a>"
    for code in (0, 1, 8, 0xD800, 0xDFFF, 0xFFFE, 0x110000, 2**31, 2**32 + 65, 2**64 + 65):
        yield f"reference &#{code};", f"<a>&#{code};</a>".encode()
        yield f"reference &#x{code:x};", f'<a x="&#x{code:x};"/>'.encode()
    for text in (b"&", b"&amp", b"&unknown;", b"&#;", b"&#x;", b"&#xg;", b"&;", b"]]>", b"<"):
        yield f"text {text!r}", b"<a>" + text + b"</a>"
        if text != b"]]>":
            yield f"attribute {text!r}", b'<a x="' + text + b'"/>'


def _truncations() -> Iterator[tuple[str, bytes]]:
    """A good document that ends too early, at every byte."""
    whole = b'<?xml version="1.0"?><a x="1">t<!-- c --><b><![CDATA[d]]></b><?p i?>&amp;</a>'
    for length in range(len(whole)):
        yield f"{length} bytes", whole[:length]


def _forms() -> Iterator[tuple[str, bytes]]:
    """Documents that are simply not well-formed."""
    forms = (
        b"<a></b>",
        b"<a><b></a></b>",
        b"</a>",
        b"<a/><b/>",
        b"<a/>text",
        b"text<a/>",
        b"<a",
        b"< a/>",
        b"<1/>",
        b"<-a/>",
        b"<a x/>",
        b"<a x=1/>",
        b"<a x='1\"/>",
        b"<a x='1' x='2'/>",
        b"<a x='1'y='2'/>",
        b"<a x='<'/>",
        b"<a><!-- a -- b --></a>",
        b"<a><!-- a ---></a>",
        b"<a><?xml version='1.0'?></a>",
        b"<a><?XML a?></a>",
        b" <?xml version='1.0'?><a/>",
        b"<?xml version='3.0'?><a/>",
        b"<?xml?><a/>",
        b"<?xml version='1.0' standalone='perhaps'?><a/>",
        b"<p:a/>",
        b"<a p:x=''/>",
        b"<a:b:c xmlns:a='u'/>",
        b"<a xmlns:p=''/>",
        b"<a xmlns:xmlns='u'/>",
        b"<a xmlns:xml='u'/>",
        b"<a xmlns:p='u' xmlns:q='u' p:x='' q:x=''/>",
        b"<![CDATA[a]]>",
        b"<a><![CDATA[</a>",
        b"<a><![cdata[x]]></a>",
        b"<a><!ELEMENT b ANY></a>",
        b"<!ENTITY e 'v'><a/>",
        b"\0<a/>",
        b"{}",
        b"\x1f\x8b\x08\x00",
        b"PK\x03\x04",
        b"%PDF-1.7",
    )
    for form in forms:
        yield repr(form), form


_RECIPES: Final[tuple[Recipe, ...]] = (
    _entities,
    _doctypes,
    _nesting,
    _crowds,
    _encodings,
    _characters,
    _truncations,
    _forms,
)
