"""Messages that wait for their confirmation."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sapwood.errors import InvariantError
from sapwood.routing.propagation.xroute.receipts import Cause, Receipts


def receipts(*links: str) -> Receipts:
    made = Receipts()
    for link in links:
        made.link_up(link)
    return made


def test_receipts_settle_a_cause_with_the_last_confirmation() -> None:
    made, cause = receipts("r2", "r3"), Cause(None, "k", 0)
    made.sent("r2", 1, cause)
    made.sent("r3", 2, cause)
    made.validate()
    assert made.confirm("r2", 2) is None, "that was sent on another link"
    assert made.confirm("r2", 1) is None
    assert made.confirm("r2", 1) is None, "confirmed twice"
    assert set(made.stated) == {"k"}
    assert made.confirm("r3", 2) is cause
    assert not made.stated
    made.validate()


def test_receipts_give_up_what_a_link_that_is_gone_owed_and_asked() -> None:
    made = receipts("r2", "r3", "r4")
    here, there, both = Cause(None, "k", 0), Cause("r2", "", 7), Cause("r4", "", 8)
    made.sent("r2", 1, here)
    made.sent("r3", 2, there)
    made.sent("r2", 3, both)
    made.sent("r3", 4, both)
    made.validate()
    assert made.link_down("r2") == [here], "nobody is left to hear of what came from r2"
    made.validate()
    assert made.confirm("r3", 2) is None
    assert made.confirm("r3", 4) is both


def test_receipts_forget_what_was_withdrawn() -> None:
    made, cause = receipts("r2"), Cause(None, "k", 0)
    made.sent("r2", 1, cause)
    made.forget("other")
    made.forget("k")
    made.validate()
    assert made.confirm("r2", 1) is None


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda made, cause: cause.open.clear(), "the other way"),
        (lambda made, cause: made.stated.clear(), "statements wait"),
        (lambda made, cause: setattr(cause, "link", "r9"), "link which is gone|statements wait"),
    ],
)
def test_receipts_validate_notices_damage(
    damage: Callable[[Receipts, Cause], None], words: str
) -> None:
    made, cause = receipts("r2"), Cause(None, "k", 0)
    made.sent("r2", 1, cause)
    damage(made, cause)
    with pytest.raises(InvariantError, match=words):
        made.validate()


def test_receipts_validate_notices_a_cause_from_nowhere() -> None:
    made = receipts("r2")
    made.sent("r2", 1, Cause("r9", "", 1))
    with pytest.raises(InvariantError, match="link which is gone"):
        made.validate()
