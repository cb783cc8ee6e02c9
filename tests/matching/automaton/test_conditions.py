"""The table of conditions."""

from __future__ import annotations

from sapwood.language.xpath import parse_xpath
from sapwood.matching.automaton import conditions as table
from sapwood.matching.automaton.conditions import ALWAYS_ID, ConditionTable
from sapwood.matching.automaton.names import Names
from sapwood.model.patterns.conditions import ALWAYS


def test_each_distinct_condition_is_there_once_after_what_it_is_made_of() -> None:
    conditions = ConditionTable(Names())
    first = conditions.number(parse_xpath("/a[b = 'x' or @c < 5][text()]").root)
    size = len(conditions)
    assert conditions.number(parse_xpath("/a[text()][@c < 5 or b = 'x']").root) == first
    assert len(conditions) == size
    assert conditions.number(ALWAYS) == ALWAYS_ID
    assert conditions.reads_numbers
    assert conditions.kinds == {table.ATTRIBUTE, table.TEXT, table.VALUE}
    assert conditions.literals == {"x": 0}
    arrays = conditions.conditions()
    assert [arrays.kinds[0], arrays.kinds[first]] == [table.ALWAYS, table.CHILD]
    for number, kind in enumerate(arrays.kinds.tolist()):
        held, last = int(arrays.first[number]), int(arrays.second[number])
        if kind in (table.ALL_OF, table.ANY_OF):
            assert arrays.operands[held:last].max() < number
        if kind in (table.CHILD, table.DESCENDANT):
            assert last < number


def test_texts_and_numbers_are_different_literals() -> None:
    conditions = ConditionTable(Names())
    one, other = (conditions.number(parse_xpath(f"/a[@x = {v}]").root) for v in ("'1'", "1"))
    assert one != other
