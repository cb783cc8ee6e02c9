"""Behavior that is particular to the path automaton."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import DocumentError, InputError, InvariantError, LimitError
from sapwood.language.xpath import parse_xpath
from sapwood.matching.automaton import PathAutomatonEngine
from sapwood.matching.automaton import engine as module
from sapwood.matching.documents.reference import ReferenceXPathEngine
from sapwood.xml import DocumentBounds, read_document


def made(*expressions: str) -> PathAutomatonEngine:
    engine = PathAutomatonEngine()
    for slot, expression in enumerate(expressions):
        engine.add(slot, parse_xpath(expression))
    return engine


def test_equal_patterns_share_what_they_come_down_to() -> None:
    engine = made("/a[b][c]", "/a[c]/b", "//x", "x")
    assert len(engine._targets) == 2
    assert engine.match(b"<a><b/><c/><x/></a>") == [0, 1, 2, 3]
    engine.remove(0)
    engine.remove(2)
    engine.validate()
    assert engine.match(b"<a><b/><c/><x/></a>") == [1, 3]
    engine.remove(1)
    engine.remove(3)
    engine.validate()
    assert engine.match(b"<a><b/><c/><x/></a>") == []
    assert len(engine) == 0


def test_patterns_join_without_the_states_beginning_anew() -> None:
    engine = made("//a/b")
    data = b"<r><a><b><c/></b></a></r>"
    assert engine.match(data) == [0]
    before = len(engine._states)
    engine.add(1, parse_xpath("//b/*"))
    engine.add(2, parse_xpath("/*[a]//b"))
    assert engine.match(data) == [0, 1, 2]
    engine.remove(0)
    assert engine.match(data) == [1, 2]
    assert len(engine._states) == before


STEPS = st.tuples(
    st.sampled_from(["/", "//"]), st.sampled_from(["a", "b", "*", "a[b]", "*[@x = '1']", "b[.//a]"])
)
EXPRESSIONS = st.lists(STEPS, min_size=1, max_size=3).map(
    lambda steps: "".join(axis + step for axis, step in steps)
)
DOCUMENTS = (
    *(b"<a><b/></a>", b"<a><b><a x='1'/></b><b x='1'/></a>", b"<c><a><b><c><a/></c></b></a></c>"),
    *(b"<b x='1'><b><b><a/></b></b></b>", b"<a x='1'/>", b"<c><b/><a><c><b x='2'/></c></a></c>"),
)


@given(
    acts=st.lists(
        st.tuples(EXPRESSIONS, st.integers(0, 9), st.sampled_from([None, *DOCUMENTS])), max_size=25
    )
)
def test_patterns_that_come_and_go_between_documents_are_joined_to_what_was_learned(
    acts: list[tuple[str, int, bytes | None]],
) -> None:
    engine, reference = PathAutomatonEngine(), ReferenceXPathEngine()
    taken: set[int] = set()
    for expression, slot, data in acts:
        for one in (engine, reference):
            if slot in taken:
                one.remove(slot)
            else:
                one.add(slot, parse_xpath(expression))
        taken ^= {slot}
        if data is not None:
            assert engine.match(data) == reference.match(data)
    engine.validate()
    assert [engine.match(data) for data in DOCUMENTS] == [reference.match(d) for d in DOCUMENTS]


@pytest.mark.long
def test_thousands_of_patterns_come_and_go() -> None:
    engine = PathAutomatonEngine()
    for slot in range(5000):
        engine.add(slot, parse_xpath(f"//a{slot % 50}[@x = '{slot % 7}']/b{slot % 3}"))
    data = b"<r><a1 x='1'><b1/></a1><a2 x='2'><b2/></a2></r>"
    every = [s for s in range(5000) if s % 50 in (1, 2) and s % 7 == s % 3 == s % 50]
    assert engine.match(data) == every
    for slot in range(0, 5000, 2):
        engine.remove(slot)
    engine.validate()
    assert engine.match(data) == [slot for slot in every if slot % 2]


def test_what_removed_patterns_leave_behind_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATTERN_REMAINS_MIN", 5)
    engine = made(*(f"//a{at}[@x = 1]/b" for at in range(20)), "//a/b", "//a/b")
    data = b"<r><a><b/></a><a3 x='1'><b/></a3></r>"
    assert engine.match(data) == [3, 20, 21]
    for slot in range(4, 20):
        engine.remove(slot)
        engine.validate()
    assert len(engine._targets) < 15
    assert engine.match(data) == [3, 20, 21]
    engine.add(4, parse_xpath("//a3"))
    assert engine.match(data) == [3, 4, 20, 21]
    engine.validate()


def test_content_is_read_only_while_some_pattern_reads_it() -> None:
    engine = made("/a")
    bare = read_document(b"<a x='1'/>", content=False)
    assert engine.match(bare) == [0]
    engine.add(1, parse_xpath("/a[@x = 1]"))
    assert engine.match(b"<a x='1'/>") == [0, 1]
    with pytest.raises(InputError, match="without its content"):
        engine.match(bare)
    engine.remove(1)
    assert engine.match(bare) == [0]


def test_content_is_not_missed_by_conditions_of_patterns_that_are_gone() -> None:
    engine = PathAutomatonEngine()
    engine.add(0, parse_xpath("//a[@k = 1][text()][. = 'x']"))
    engine.add(1, parse_xpath("//a[b][c]"))
    engine.remove(0)
    assert engine.match(b"<a k='1'>x<b/><c/></a>") == [1]
    assert engine.match(read_document(b"<a k='1'>x<b/><c/></a>", content=False)) == [1]
    engine.add(0, parse_xpath("//a[@k = 1]"))
    with pytest.raises(InputError, match="without its content"):
        engine.match(read_document(b"<a k='1'><b/><c/></a>", content=False))


def test_engine_is_unharmed_by_what_is_no_document() -> None:
    engine = PathAutomatonEngine(DocumentBounds(depth=2))
    engine.add(0, parse_xpath("//b"))
    for _ in range(2):
        with pytest.raises(DocumentError):
            engine.match(b"<b>")
        with pytest.raises(LimitError):
            engine.match(b"<b><b><b/></b></b>")
        assert engine.match(b"<b/>") == [0]
    engine.validate()


def test_expressions_of_patterns_that_are_gone_ask_for_no_content() -> None:
    engine = made("/a[@x = 1][b]", "/a[b][c]")
    engine.remove(0)
    assert engine.match(b"<a><b/><c/></a>") == [1]
    assert engine.match(read_document(b"<a><b/></a>", content=False)) == []


def test_document_that_is_refused_leaves_no_marks() -> None:
    engine = made("//b", "/a[@x = 1]")
    for method in (engine.match, engine.match_count):
        with pytest.raises(InputError, match="without its content"):
            method(read_document(b"<a><b/></a>", content=False))
        assert engine.match(b"<a/>") == []


def test_threads_match_beside_each_other_and_beside_a_fold() -> None:
    engine = made(*(f"//a{at % 30}[@x = '{at % 3}' or b{at % 5}]" for at in range(300)), "/r")
    documents = [
        f"<r><a{at} x='{at % 4}'><b{at % 7}/></a{at}></r>".encode() for at in range(30)
    ] * 4
    expected = [engine.match(data) for data in documents]
    fresh = made(*(f"//a{at % 30}[@x = '{at % 3}' or b{at % 5}]" for at in range(300)), "/r")
    with ThreadPoolExecutor(6) as pool:
        folded = pool.submit(fresh.fold)
        counts = pool.map(fresh.match_count, documents)
        assert list(pool.map(fresh.match, documents)) == expected
        assert list(counts) == [len(found) for found in expected]
        folded.result()
    fresh.validate()


def test_document_of_many_elements_needs_more_than_one_word() -> None:
    engine = made("//c[@x = '7']", "/a[b[@x = '199']]/c[@x = 200]", "/a[c]/d")
    elements = "".join(f"<{'bc'[at % 2 == 0]} x='{at}'/>" for at in range(201))
    assert engine.match(f"<a>{elements}</a>".encode()) == [1]


def test_validate_finds_a_target_in_the_wrong_place() -> None:
    engine = made("/a", "/a[b]")
    engine.validate()
    engine._plain.view[:] = -1
    with pytest.raises(InvariantError):
        engine.validate()
    engine = made("/a")
    engine._targets.users.view[0] = 2
    with pytest.raises(InvariantError):
        engine.validate()
