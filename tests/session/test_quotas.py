"""Quotas of identities: all use is counted, and never more than the quota."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood import parse_filter, parse_xpath
from sapwood.errors import InputError
from sapwood.matching.costs import cost_of
from sapwood.session.quotas import BURST_S, Account, Quota, Size, Usage, conjunctions_of


def use(usage: Usage, sizes: list[int], now: float) -> tuple[int, str]:
    """Let of some publications pass what may."""
    count, reason = usage.passing(sizes, now)
    assert usage.passing(sizes, now) == (count, reason), "to ask uses nothing up"
    usage.take(count, sum(sizes[:count]))
    return count, reason


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"subscriptions": -1}, "subscriptions is -1; it takes 0 to"),
        ({"conjunctions": 2**60}, "conjunctions is"),
        ({"publications_per_s": 0.0}, "publications_per_s is 0; it takes 0.001 to"),
        ({"bytes_per_s": float("nan")}, "bytes_per_s is nan"),
        ({"bytes_per_s": float("inf")}, "bytes_per_s is inf"),
    ],
)
def test_a_number_that_bounds_nothing_is_refused(given: dict[str, float], said: str) -> None:
    with pytest.raises(InputError, match=said):
        Quota(**given)  # type: ignore[arg-type]


def test_what_one_quota_does_not_say_another_does() -> None:
    first, second = Quota(subscriptions=0, bytes_per_s=5.0), Quota(7, 8, 9.0, 10.0)
    assert first.before(second) == Quota(0, 8, 9.0, 5.0)
    assert first.said() == {"subscriptions": 0, "bytes_per_s": 5.0}


STEPS = st.lists(
    st.tuples(
        st.integers(0, 1),
        st.sampled_from(("state", "withdraw", "close")),
        st.sampled_from(("a", "b", "c")),
        st.integers(1, 4),
    )
)


@given(STEPS, st.integers(0, 4), st.integers(0, 6))
def test_subscriptions_and_conjunctions_are_never_more_than_the_quota(
    steps: list[tuple[int, str, str, int]], subscriptions: int, conjunctions: int
) -> None:
    usage = Usage(Quota(subscriptions, conjunctions))
    accounts = [Account(usage), Account(usage)]
    stated: list[dict[str, int]] = [{}, {}]
    for which, act, id_, size in steps:
        account, own = accounts[which], stated[which]
        if act == "state":
            refusal = account.refusal(id_, Size(size))
            after = [{**own, id_: size}, stated[1 - which]]
            fits = sum(map(len, after)) <= subscriptions and (
                sum(sum(one.values()) for one in after) <= conjunctions or size <= own.get(id_, 0)
            )
            assert (refusal is None) is fits
            if refusal is None:
                account.state(id_, Size(size))
                own[id_] = size
        elif act == "withdraw":
            account.withdraw((id_, "never stated"))
            own.pop(id_, None)
        else:
            account.close()
            own.clear()
            accounts[which] = Account(usage)
        assert usage.accounts == 2
        assert usage.subscriptions == sum(map(len, stated)) <= subscriptions
        assert usage.conjunctions == sum(sum(one.values()) for one in stated) <= conjunctions


def test_a_quota_that_becomes_smaller_takes_nothing_away() -> None:
    usage = Usage(Quota(3, 9))
    account = Account(usage)
    for id_ in ("a", "b", "c"):
        account.state(id_, Size(3))
    usage.quota = Quota(1, 4)
    assert account.refusal("d", Size(1)) == (
        "the quota subscriptions of this identity is 1, of which 3 are in use: withdraw some, or "
        "have it raised"
    )
    assert "the quota conjunctions of this identity is 4, of which 9" in str(
        account.refusal("a", Size(4))
    )
    assert account.refusal("a", Size(2)) is None
    account.state("a", Size(2))
    assert (usage.subscriptions, usage.conjunctions) == (3, 8)


ARRIVALS = st.lists(
    st.tuples(st.floats(0, 2), st.lists(st.integers(1, 50), max_size=8)), max_size=12
)


@given(ARRIVALS, st.floats(0.1, 20), st.floats(1, 200))
def test_no_stretch_of_time_has_more_than_the_rates_and_a_burst(
    arrivals: list[tuple[float, list[int]]], publications: float, size: float
) -> None:
    usage = Usage(Quota(publications_per_s=publications, bytes_per_s=size))
    now, passed = 100.0, list[tuple[float, int]]()
    for pause, sizes in arrivals:
        now += pause
        count, reason = use(usage, sizes, now)
        assert (reason == "") is (count == len(sizes))
        assert reason == "" or "per_s" in reason
        passed += [(now, one) for one in sizes[:count]]
    for first, (begin, _) in enumerate(passed):
        for last in range(first, len(passed)):
            taken, seconds = passed[first : last + 1], passed[last][0] - begin
            assert len(taken) <= max(publications * BURST_S, 1) + publications * seconds + 1e-6
            # The last one may be longer than what was left.
            assert sum(one for _, one in taken[:-1]) <= size * (BURST_S + seconds) + 50


@given(st.integers(1, 1000), st.integers(1, 20))
def test_who_keeps_to_the_rate_is_never_refused(rate: int, seconds: int) -> None:
    usage = Usage(Quota(publications_per_s=float(rate), bytes_per_s=float(rate * 10)))
    for second in range(seconds):
        assert use(usage, [10] * rate, float(second)) == (rate, "")


def test_a_long_publication_passes_an_empty_bucket_and_those_behind_it_wait() -> None:
    usage = Usage(Quota(bytes_per_s=10.0))
    assert use(usage, [45, 1], 0.0) == (
        1,
        "the quota bytes_per_s of this identity is 10: publish more slowly, or have it raised",
    )
    assert use(usage, [1], 3.0)[0] == 0
    assert use(usage, [1], 4.0)[0] == 1


def test_a_rate_below_one_lets_one_pass_at_a_time() -> None:
    usage = Usage(Quota(publications_per_s=0.1))
    assert use(usage, [1, 1], 0.0)[0] == 1
    assert use(usage, [1], 9.0)[0] == 0
    assert use(usage, [1], 10.1)[0] == 1


def test_time_that_goes_back_gives_nothing() -> None:
    usage = Usage(Quota(publications_per_s=1.0))
    assert use(usage, [1], 10.0)[0] == 1
    assert use(usage, [1], 5.0)[0] == 0
    assert use(usage, [1], 10.5)[0] == 0


def test_what_passed_before_there_was_a_rate_does_not_count() -> None:
    usage = Usage(Quota())
    assert use(usage, [1] * 100, 0.0) == (100, "")
    usage.quota = Quota(publications_per_s=1.0)
    assert use(usage, [1], 0.0)[0] == 1


def test_a_filter_counts_by_its_conjunctions() -> None:
    assert conjunctions_of(parse_filter("a = 1 and b = 2")) == 1
    assert conjunctions_of(parse_filter("a = 1 or b = 2")) == 2
    assert conjunctions_of(parse_filter("a = 1 and a = 2")) == 1
    assert conjunctions_of(parse_xpath("//a")) == 1


def test_what_filters_cost_is_bounded_in_all_and_the_dear_predicate_is_named() -> None:
    usage = Usage(Quota(cost=5_000.0))
    account, other = Account(usage), Account(usage)

    def sized(text: str) -> Size:
        asked = parse_filter(text)
        return Size(conjunctions_of(asked), cost_of(asked))

    cheap, dear = sized("a = 1"), sized("price > 1 and name not like '%ab%'")
    for number in range(3):
        assert account.refusal(f"c{number}", cheap) is None
        account.state(f"c{number}", cheap)
    account.state("d1", dear)
    other.state("d2", dear)
    refused = account.refusal("d3", sized("name not like '%a%b_c'"))
    assert refused is not None
    assert "the quota cost of this identity is 5,000 ns for each publication, of which" in refused
    assert "most of it is name not like '%a%b_c', tried on each text: ask for a value" in refused
    assert (
        account.refusal("d1", sized("name not like '%x%' and b = 1")) is None
    )  # cheaper than before
    account.withdraw(("d1", "c0"))
    other.close()
    account.close()
    assert usage.cost == 0.0


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans(), st.integers(1, 9)), max_size=30))
def test_what_is_used_is_the_sum_of_what_is_stated(steps: list[tuple[int, bool, int]]) -> None:
    usage = Usage(Quota())
    account = Account(usage)
    there: dict[str, Size] = {}
    for which, is_stated, many in steps:
        id_ = f"s{which}"
        if is_stated:
            asked = parse_filter(" or ".join(f"a{n} > {n}" for n in range(many)))
            there[id_] = Size(many, cost_of(asked))
            account.state(id_, there[id_])
        else:
            account.withdraw((id_,))
            there.pop(id_, None)
        assert usage.subscriptions == len(there)
        assert usage.conjunctions == sum(one.conjunctions for one in there.values())
        costs = [one.cost.ns for one in there.values() if one.cost is not None]
        assert usage.cost == pytest.approx(sum(costs))
