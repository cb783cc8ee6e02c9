"""Random small DTDs, as text, and what is known of them by brute force."""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import Final

from hypothesis import strategies as st

NAMES: Final = ("a", "b", "c", "d")

_occurs = st.sampled_from(("", "?", "*", "+"))
_particles = st.recursive(
    st.builds("{}{}".format, st.sampled_from(NAMES), _occurs),
    lambda inner: st.builds(
        lambda parts, joint, occurs: f"({joint.join(parts)}){occurs}",
        st.lists(inner, min_size=2, max_size=3),
        st.sampled_from((",", "|")),
        _occurs,
    ),
    max_leaves=4,
)


def _mixed(names: list[str]) -> str:
    return f"(#PCDATA{''.join(f'|{name}' for name in names)})*" if names else "(#PCDATA)"


_contents = st.one_of(
    st.just("EMPTY"),
    st.lists(st.sampled_from(NAMES), max_size=2, unique=True).map(_mixed),
    _particles.map(lambda particle: f"({particle})"),
    st.just("ANY"),
)


@cache
def declarations() -> st.SearchStrategy[str]:
    """DTDs over four names, not all of which are declared each time; `a` always is."""
    return st.lists(_contents, min_size=1, max_size=len(NAMES)).map(
        lambda contents: "".join(
            f"<!ELEMENT {name} {content}>" for name, content in zip(NAMES, contents, strict=False)
        )
    )


def words(levels: int) -> list[tuple[str, ...]]:
    """All paths over the names, of at most so many levels."""
    return [path for size in range(1, levels + 1) for path in product(NAMES, repeat=size)]
