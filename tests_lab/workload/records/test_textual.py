"""The workloads of texts hold what their docstring says."""

from __future__ import annotations

from sapwood_lab.workload.records import workload
from sapwood_lab.workload.records.textual import MESSAGE_CHARS, WORD_CHARS, word


def test_like_asks_for_words_within_and_at_the_end() -> None:
    texts = [str(s.record_filter) for s in workload("like").subscriptions(1000, 1)]
    ends = sum(not text.endswith("%'") for text in texts)
    inner = sum(text.count("%") == 3 for text in texts)
    assert 150 <= ends <= 250
    assert 60 <= inner <= 140
    assert len(set(texts)) > 990
    assert word(17) == word(17)
    assert all(WORD_CHARS[0] <= len(word(number)) <= WORD_CHARS[1] for number in range(200))


def test_like_messages_have_some_of_the_words() -> None:
    records = [p.record for p in workload("like").publications(300, 1)]
    sizes = [len(str(record["message"])) for record in records]
    assert min(sizes) >= MESSAGE_CHARS[0] - WORD_CHARS[1]
    assert max(sizes) <= MESSAGE_CHARS[1]
    filters = [s.record_filter for s in workload("like").subscriptions(3000, 2)]
    assert any(f.accepts(r) for f in filters for r in records)


def test_read_asks_for_all_that_texts_read_as() -> None:
    texts = [str(s.record_filter) for s in workload("read").subscriptions(1000, 1)]
    for name, least in (("lower(code)", 330), ("integer(size)", 240), ("timestamp(at)", 240)):
        assert sum(name in text for text in texts) > least
    filters = [s.record_filter for s in workload("read").subscriptions(1000, 2)]
    records = [p.record for p in workload("read").publications(40, 2)]
    share = sum(f.accepts(r) for f in filters for r in records) / 40_000
    assert 0.001 < share < 0.05
