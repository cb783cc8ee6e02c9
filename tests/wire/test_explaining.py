"""Questions and answers about where publications go, as they travel."""

from __future__ import annotations

import pytest

from sapwood.errors import FrameError, LimitError
from sapwood.language import parse_filter
from sapwood.language.xpath import parse_xpath
from sapwood.limits.explaining import EXPLAINED_BYTES_MAX
from sapwood.routing.explaining.accounts import Account, Entry, Onward, Standing
from sapwood.routing.propagation.reasons import Reason, Treatment
from sapwood.wire.explaining import Answer, ExplainReply, Found, answer_bytes, answer_of

RECORDS, DOCUMENTS = parse_filter("a > 1 or b like '%x%'"), parse_xpath("//a[b]")


def reply(answer: bytes) -> ExplainReply:
    return ExplainReply("hub", "covering", answer=answer)


def test_an_answer_travels_with_filters_of_both_languages() -> None:
    told: dict[str, tuple[Reason, ...]] = {
        "r2": (Reason(Treatment.COVERED, "k", RECORDS), Reason(Treatment.MERGED, "m", RECORDS))
    }
    account = Account(
        "hub",
        ("r2",),
        Standing("k", DOCUMENTS, in_force=True, told=told),
        Onward(goes=True, because=(Entry("k", RECORDS),), is_all=False),
        wanted=True,
        begun=("m",),
    )
    found = Found("ann", "s", RECORDS, in_force=True, is_connected=False, allowed=RECORDS)
    answer = Answer((found,), account)
    assert answer_of(reply(answer_bytes(answer))) == answer
    assert answer_of(reply(b"")) == Answer()


def test_an_answer_that_is_too_long_is_not_sent() -> None:
    long = parse_filter("a = '" + "x" * 60_000 + "'")
    found = Found("ann", "s", long, in_force=True, is_connected=True)
    assert len(answer_bytes(Answer((found,)))) < EXPLAINED_BYTES_MAX
    with pytest.raises(LimitError, match="EXPLAINED_BYTES_MAX"):
        answer_bytes(Answer((found, found, found)))


@pytest.mark.parametrize("nonsense", [b"\x01", b"\xc1", b"\x92\x91\x90\xc0", b"\x92"])
def test_nonsense_is_the_brokers_fault(nonsense: bytes) -> None:
    with pytest.raises(FrameError, match="broker hub"):
        answer_of(reply(nonsense))
