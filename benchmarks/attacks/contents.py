"""Hostile contents: filters, records and documents, made as others would make them."""

from __future__ import annotations

import msgspec

MIB = 1 << 20

# Filters ---------------------------------------------------------------------------------------


def doubling(pairs: int) -> str:
    """`(a0 = 1 or b0 = 1) and ...`: 2^pairs conjunctions."""
    return " and ".join(f"(a{n}=1 or b{n}=1)" for n in range(pairs))


def disjuncts(count: int, width: int = 2) -> str:
    """So many conjunctions that nothing joins."""
    return " or ".join(
        "(" + " and ".join(f"a{(n * 7 + k) % 97}={n + k}" for k in range(width)) + ")"
        for n in range(count)
    )


def alike(count: int) -> str:
    """Conjunctions of ranges of the same two attributes, each beside all others."""
    return " or ".join(f"(a>{n} and b<{count - n})" for n in range(count))


def patterns(count: int, length: int) -> str:
    """General `like` patterns on one attribute."""
    return " and ".join(f"t like '%{chr(97 + n % 26)}{'_' * length}{n}%'" for n in range(count))


def excluded_patterns(count: int) -> str:
    """The complements of general patterns on one attribute, as alternatives."""
    return " or ".join(f"(t not like '%x{n}%y%' and u{n}>0)" for n in range(count))


def nested(depth: int) -> str:
    """`not (a0=1 and not (a1=1 or not (...)))`."""
    text = "z=1"
    for n in range(depth):
        text = f"not (a{n}=1 {'and' if n % 2 else 'or'} {text})"
    return text


def long_list(count: int) -> str:
    """One list of texts of all lengths."""
    return "s in (" + ",".join(f"'{'x' * (n % 3)}{n}'" for n in range(count)) + ")"


def lists(count: int, members: int) -> str:
    """Disjunctions of long lists, which have to be compared with each other."""
    return " or ".join(
        f"(k{n % 3}={n} and s in (" + ",".join(str(n * 3 + m) for m in range(members)) + "))"
        for n in range(count)
    )


def holes(count: int) -> str:
    """An attribute with so many values left out, as conditions of their own."""
    return " and ".join(f"s<>'{n}'" for n in range(count))


def staircase(count: int) -> str:
    """Overlapping boxes in three dimensions: the canonical form wants all their consensus."""
    return " or ".join(
        f"(x>={n} and x<{n + 7} and y>={(n * 5) % 23} and y<{(n * 5) % 23 + 9} "
        f"and z>={(n * 11) % 19} and z<{(n * 11) % 19 + 8})"
        for n in range(count)
    )


# Records ---------------------------------------------------------------------------------------


def nested_arrays(size: int, depth: int) -> msgspec.Raw:
    """A record with one array of arrays of one element, `depth` deep."""
    one = b"\x91" * (depth - 1) + b"\xc0"
    count = size // len(one)
    return msgspec.Raw(b"\x81\xa1a" + b"\xdd" + count.to_bytes(4, "big") + one * count)


def array_of(element: bytes, size: int) -> msgspec.Raw:
    """A record with one array of the same encoded element."""
    count = size // len(element)
    return msgspec.Raw(b"\x81\xa1a" + b"\xdd" + count.to_bytes(4, "big") + element * count)


def wide(count: int) -> msgspec.Raw:
    """A record of so many attributes."""
    return msgspec.Raw(msgspec.msgpack.encode({f"{n:x}": 1 for n in range(count)}))


def empty_objects(size: int) -> msgspec.Raw:
    """A record of empty objects by name: no attribute at all."""
    count = size // 7
    pairs = b"".join(b"\xa5" + f"{n:05x}".encode() + b"\x80" for n in range(count))
    return msgspec.Raw(b"\xdf" + count.to_bytes(4, "big") + pairs)


def deep_objects(chains: int, depth: int) -> msgspec.Raw:
    """Chains of objects with long names: each flat name is as long as its chain."""
    record: dict[str, object] = {}
    for n in range(chains):
        inner: object = 1
        for _ in range(depth - 1):
            inner = {"n" * 400: inner}
        record[f"c{n}"] = inner
    return msgspec.Raw(msgspec.msgpack.encode(record))


# Documents -------------------------------------------------------------------------------------


def chain_of(names: str, width: int, depth: int) -> bytes:
    """Siblings, each a chain of elements so deep."""
    one = "".join(f"<{names[n % len(names)]}>" for n in range(depth))
    end = "".join(f"</{names[n % len(names)]}>" for n in reversed(range(depth)))
    return ("<r>" + (one + end) * width + "</r>").encode()


def attributed(elements: int, attributes: int) -> bytes:
    """Elements with as many attributes as are allowed."""
    own = " ".join(f'a{n}="{n}"' for n in range(attributes))
    return ("<r>" + f"<e {own}/>" * elements + "</r>").encode()


def text_of(size: int, letter: str = "x") -> bytes:
    """One element with a long text."""
    return b"<r><p>" + letter.encode() * size + b"</p></r>"


def parted_text(parts: int) -> bytes:
    """One element whose text is parted by comments."""
    return b"<r><p>" + b"1<!---->" * parts + b"</p></r>"


def distinct_names(count: int, salt: int) -> bytes:
    """Elements that each have a name of their own."""
    return ("<r>" + "".join(f"<n{salt}x{n}/>" for n in range(count)) + "</r>").encode()


def namespaces(count: int) -> bytes:
    """Elements that each declare a namespace."""
    body = "".join(f'<p{n}:e xmlns:p{n}="u{n}"/>' for n in range(count))
    return ("<r>" + body + "</r>").encode()


def string_values(depth: int, leaves: int) -> bytes:
    """Nested elements around many texts: the string value of each one is all that is inside."""
    return ("<p>" * depth + "<q>1</q>" * leaves + "</p>" * depth).encode()
