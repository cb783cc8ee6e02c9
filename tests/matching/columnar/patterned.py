"""Drawn patterns and readings, and texts that have something in common with them."""

from __future__ import annotations

from hypothesis import strategies as st

_LETTERS = "abAsSé\u0301İΣ\u03c3.𝄞ß\n"
_WORDS = ("she", "hers", "his", "Σ", "aΣ", "12", "-7", "é", "ing")
_TIMES = (
    "2026-01-31T12:00:00Z",
    "2026-01-31t23:59:60.5-00:01",
    "2024-02-29T00:00:00+01:00",
    "0000-01-01T00:00:00+00:01",
    "9999-12-31T23:59:59.999999999-00:01",
    "2026-02-30T12:00:00Z",
    "2026-01-31T12:00:00.Z",
    "2026-01-31T12:00:00",
)
_NUMBERS = (
    *("0", "-0", "+7", "007", "", "+", "1x", "9223372036854775807", "9223372036854775808"),
    *("-9223372036854775808", "-9223372036854775809", "00000000000000000000000000012"),
)


def pattern_texts() -> st.SearchStrategy[str]:
    """Texts: of few letters, of words, numbers and times, and rather long ones."""
    letters = st.text(_LETTERS, max_size=8)
    words = st.lists(st.sampled_from(_WORDS) | letters, max_size=4).map("".join)
    long = st.tuples(words, st.integers(1, 300)).map(lambda one: one[0] * one[1])
    return letters | words | st.sampled_from((*_TIMES, *_NUMBERS)) | long


def patterns() -> st.SearchStrategy[str]:
    """`like` patterns of the same pieces."""
    piece = st.sampled_from((*_WORDS, "%", "%", "_", "ss")) | st.text(_LETTERS, max_size=3)
    return st.lists(piece, min_size=1, max_size=5).map("".join)


def conditions(name: str = "a") -> st.SearchStrategy[str]:
    """Conditions with patterns and readings on an attribute, some with more beside them."""
    like = st.tuples(st.sampled_from(("", "not ")), patterns()).map(
        lambda one: f"{name} {one[0]}like {_quoted(one[1])}"
    )
    lower = patterns().map(lambda text: f"lower({name}) like {_quoted(text.lower())}")
    lowers = st.tuples(st.sampled_from(("=", "<", ">=", "<>")), pattern_texts()).map(
        lambda one: f"lower({name}) {one[0]} {_quoted(one[1].lower())}"
    )
    integers = st.tuples(st.sampled_from(("=", "<", ">=", "<>")), st.integers(-9, 99)).map(
        lambda one: f"integer({name}) {one[0]} {one[1]}"
    )
    times = st.tuples(st.sampled_from(("=", "<", ">=")), st.sampled_from(_TIMES[:2])).map(
        lambda one: f"timestamp({name}) {one[0]} '{one[1]}'"
    )
    others = st.sampled_from(
        (
            *(f"{name} is null", f"{name} > 5", f"{name} = true", f"{name} < 'm'"),
            *(f"exists integer({name})", f"integer({name}) is null", f"exists timestamp({name})"),
            *(f"timestamp({name}) is null", f"exists {name}"),
        )
    )
    one = st.one_of(like, like, lower, lowers, integers, times, others)
    both = st.tuples(one, st.sampled_from((" and ", " or ")), one).map("".join)
    return one | both | both.map(lambda text: f"not ({text})")


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
